#include "node/links/secret.h"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>

#include "node/keys/timed_reader.h"

namespace troupe {
namespace {

Error failure(ErrorCode code, std::string message, std::string hint = {}) {
  return Error{.code = code, .message = std::move(message), .execution = Execution::never, .hint = std::move(hint)};
}

std::string system_text() { return std::error_code(errno, std::generic_category()).message(); }

/// Closes a descriptor at the end of a scope.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const { return number_; }

 private:
  const int number_;
};

Result<Unit> write_all(int descriptor, std::span<const std::byte> bytes, const std::string& target) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      return failure(ErrorCode::bad_argument,
                     fmt::format("cannot write the cluster secret to {}: {}", target, system_text()));
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return Unit{};
}

}  // namespace

ClusterSecret ClusterSecret::random() {
  auto memory = std::make_shared<LockedBytes>(kBytes);
  randombytes_buf(memory->bytes().data(), kBytes);
  return ClusterSecret(std::move(memory));
}

ClusterSecret ClusterSecret::from_bytes(std::span<const std::byte, kBytes> bytes) {
  auto memory = std::make_shared<LockedBytes>(kBytes);
  std::ranges::copy(bytes, memory->bytes().begin());
  return ClusterSecret(std::move(memory));
}

Result<ClusterSecret> ClusterSecret::from_descriptor(int descriptor) {
  return from_descriptor(descriptor, detail::kInheritedPatience);
}

Result<ClusterSecret> ClusterSecret::from_descriptor(int descriptor, std::chrono::milliseconds limit) {
  const Descriptor owned(descriptor);
  return read({descriptor, limit}, fmt::format("descriptor {}", descriptor));
}

Result<ClusterSecret> ClusterSecret::from_file(const FilePath& path) {
  const Descriptor file(::open(path.text().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file.number() < 0) {
    const std::string why = errno == ELOOP ? "it is a symbolic link" : system_text();
    return failure(ErrorCode::bad_argument, fmt::format("cannot read the cluster secret {}: {}", path.text(), why));
  }
  struct stat status {};
  if (::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return failure(ErrorCode::bad_argument, fmt::format("the cluster secret {} is not a regular file", path.text()));
  }
  if (status.st_uid != ::geteuid()) {
    return failure(ErrorCode::not_authorized, fmt::format("the cluster secret {} belongs to user {}, expected {}",
                                                          path.text(), status.st_uid, ::geteuid()));
  }
  if ((status.st_mode & 0177U) != 0) {
    return failure(
        ErrorCode::not_authorized,
        fmt::format("the cluster secret {} has mode {:04o}, expected 0600", path.text(), status.st_mode & 07777U),
        fmt::format("chmod 0600 {}", path.text()));
  }
  return read({file.number(), detail::kInheritedPatience}, path.text());
}

Result<ClusterSecret> ClusterSecret::read(detail::TimedReader reader, const std::string& source) try {
  auto memory = std::make_shared<LockedBytes>(kBytes);
  std::byte beyond{};
  const std::size_t size = reader.read_up_to(memory->bytes());
  const bool is_longer = size == kBytes && reader.read_up_to({&beyond, 1}) != 0;
  if (is_longer || size != kBytes) {
    return failure(ErrorCode::bad_argument, fmt::format("the cluster secret in {} has {} {} bytes, expected {}", source,
                                                        is_longer ? "more than" : "only", size, kBytes));
  }
  return ClusterSecret(std::move(memory));
} catch (const std::invalid_argument& error) {
  return failure(ErrorCode::bad_argument, fmt::format("the cluster secret in {} {}", source, error.what()));
}

Result<Unit> ClusterSecret::to_file(const FilePath& path) const {
  const Descriptor file(::open(path.text().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.number() < 0) {
    return failure(ErrorCode::bad_argument,
                   fmt::format("cannot create the cluster secret {}: {}", path.text(), system_text()));
  }
  return write_all(file.number(), bytes(), path.text());
}

Result<Unit> ClusterSecret::to_descriptor(int descriptor) const {
  return write_all(descriptor, bytes(), fmt::format("descriptor {}", descriptor));
}

std::span<const std::byte, ClusterSecret::kBytes> ClusterSecret::bytes() const {
  return std::span<const std::byte, kBytes>(memory_->bytes().data(), kBytes);
}

}  // namespace troupe

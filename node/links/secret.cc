#include "node/links/secret.h"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fmt/format.h>

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
  const Descriptor owned(descriptor);
  return read(descriptor, fmt::format("descriptor {}", descriptor));
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
  return read(file.number(), path.text());
}

Result<ClusterSecret> ClusterSecret::read(int descriptor, const std::string& source) {
  auto memory = std::make_shared<LockedBytes>(kBytes);
  std::size_t size = 0;
  std::byte beyond{};
  while (true) {
    std::byte* const to = size < kBytes ? memory->bytes().data() + size : &beyond;
    const ssize_t got = ::read(descriptor, to, size < kBytes ? kBytes - size : 1);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return failure(ErrorCode::bad_argument,
                     fmt::format("cannot read the cluster secret from {}: {}", source, system_text()));
    }
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
    if (size > kBytes) break;
  }
  if (size != kBytes) {
    return failure(ErrorCode::bad_argument,
                   fmt::format("the cluster secret in {} has {} {} bytes, expected {}", source,
                               size > kBytes ? "more than" : "only", size > kBytes ? kBytes : size, kBytes));
  }
  return ClusterSecret(std::move(memory));
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

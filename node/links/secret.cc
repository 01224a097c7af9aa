#include "node/links/secret.h"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>

#include <fmt/format.h>

#include "node/file_descriptor.h"
#include "node/keys/timed_reader.h"
#include "node/system_text.h"
#include "node/write_all.h"

namespace troupe {
namespace {

Error failure(ErrorCode code, std::string message, std::string hint = {}) {
  return Error{.code = code, .message = std::move(message), .execution = Execution::never, .hint = std::move(hint)};
}

Result<Unit> write_secret(int descriptor, std::span<const std::byte> bytes, const std::string& target) {
  if (detail::write_all(descriptor, bytes)) return Unit{};
  return failure(ErrorCode::bad_argument,
                 fmt::format("cannot write the cluster secret to {}: {}", target, detail::system_text(errno)));
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
  const detail::FileDescriptor owned(descriptor);
  return read({descriptor, limit}, fmt::format("descriptor {}", descriptor));
}

Result<ClusterSecret> ClusterSecret::from_file(const FilePath& path) {
  const detail::FileDescriptor file(::open(path.text().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.is_open()) {
    const std::string why = errno == ELOOP ? "it is a symbolic link" : detail::system_text(errno);
    return failure(ErrorCode::bad_argument, fmt::format("cannot read the cluster secret {}: {}", path.text(), why));
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
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
  return read({file.get(), detail::kInheritedPatience}, path.text());
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
  const detail::FileDescriptor file(
      ::open(path.text().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.is_open()) {
    return failure(ErrorCode::bad_argument,
                   fmt::format("cannot create the cluster secret {}: {}", path.text(), detail::system_text(errno)));
  }
  return write_secret(file.get(), bytes(), path.text());
}

Result<Unit> ClusterSecret::to_descriptor(int descriptor) const {
  return write_secret(descriptor, bytes(), fmt::format("descriptor {}", descriptor));
}

std::span<const std::byte, ClusterSecret::kBytes> ClusterSecret::bytes() const {
  return std::span<const std::byte, kBytes>(memory_->bytes().data(), kBytes);
}

}  // namespace troupe

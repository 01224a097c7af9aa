#include "tensor/io/opened_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "tensor/io/file_error.h"

namespace troupe::detail {
namespace {

std::string where_of(std::string_view format, const std::filesystem::path& file) {
  return fmt::format("[{}] {}", format, file.string());
}

}  // namespace

OpenedFile::OpenedFile(std::string_view format, const std::filesystem::path& file)
    : OpenedFile(where_of(format, file)) {
  if (const int error = open(file); error != 0) fail(error);
}

std::optional<OpenedFile> OpenedFile::if_exists(std::string_view format, const std::filesystem::path& file) {
  OpenedFile opened(where_of(format, file));
  const int error = opened.open(file);
  if (error == ENOENT || error == ESTALE) return std::nullopt;  // ESTALE: NFS had the name a moment longer
  if (error != 0) opened.fail(error);
  return opened;
}

OpenedFile::OpenedFile(OpenedFile&& other) noexcept
    : where_(std::move(other.where_)), descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}

OpenedFile::~OpenedFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

int OpenedFile::open(const std::filesystem::path& file) {
  do {
    // Without O_NONBLOCK a pipe waits for its writer; a terminal must not become that of this process.
    descriptor_ = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  } while (descriptor_ < 0 && errno == EINTR);
  struct stat about {};
  if (descriptor_ < 0 || fstat(descriptor_, &about) != 0) return errno;
  if (S_ISDIR(about.st_mode)) return EISDIR;
  if (!S_ISREG(about.st_mode)) throw FileError(fmt::format("{}: not a regular file", where_));
  size_ = static_cast<std::uint64_t>(about.st_size);
  return 0;
}

void OpenedFile::read(std::span<std::byte> into) {
  while (!into.empty()) {
    const ssize_t count = ::read(descriptor_, into.data(), into.size());
    if (count < 0 && errno != EINTR) fail(errno);
    if (count == 0) throw FileError(fmt::format("{}: cannot be read any further", where_));
    if (count > 0) into = into.subspan(static_cast<std::size_t>(count));
  }
}

void OpenedFile::fail(int error) const {
  throw FileError(fmt::format("{}: {}", where_, std::generic_category().message(error)));
}

}  // namespace troupe::detail

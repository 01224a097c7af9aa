#include "tensor/io/new_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "tensor/io/file_error.h"

namespace troupe::detail {

std::filesystem::path replaceable(const std::string& format, const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const bool is_link = fs::is_symlink(fs::symlink_status(path, error));
  const fs::file_status there = fs::status(path, error);
  const bool is_missing = there.type() == fs::file_type::not_found;
  if (there.type() == fs::file_type::none)
    throw FileError(fmt::format("[{}] {}: {}", format, path.string(), error.message()));
  if (is_missing ? is_link : !fs::is_regular_file(there))
    throw FileError(fmt::format("[{}] {}: not a regular file", format, path.string()));
  if (!is_link) return path;
  fs::path target = fs::canonical(path, error);
  if (error) throw FileError(fmt::format("[{}] {}: {}", format, path.string(), error.message()));
  return target;
}

NewFile::NewFile(std::string format, std::filesystem::path path)
    : format_(std::move(format)), path_(replaceable(format_, path)) {
  // Lower numbers belong to concurrent writers of the same path or to files that a crash left behind.
  for (int number = 0; descriptor_ < 0; ++number) {
    new_path_ = fmt::format("{}.{}.new", path_.string(), number);
    descriptor_ = open(new_path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno != EEXIST && errno != EINTR) fail(errno);
  }
}

NewFile::~NewFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!new_path_.empty()) unlink(new_path_.c_str());
}

void NewFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) fail(errno);
    if (count > 0) bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void NewFile::commit() {
  if (fsync(descriptor_) != 0) fail(errno);
  const int closed = close(std::exchange(descriptor_, -1));
  if (closed != 0) fail(errno);
  path_ = replaceable(format_, path_);  // checks again: the file at `path` may have changed since
  if (rename(new_path_.c_str(), path_.c_str()) != 0) fail(errno);
  new_path_.clear();
}

void NewFile::fail(int error) const {
  throw FileError(fmt::format("[{}] {}: {}", format_, new_path_.string(), std::generic_category().message(error)));
}

}  // namespace troupe::detail

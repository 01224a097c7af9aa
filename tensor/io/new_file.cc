#include "tensor/io/new_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "tensor/io/file_error.h"

namespace troupe::detail {
namespace {

/// Returns nullopt if there is no such file.
std::optional<NewFile::Access> access_of(const std::filesystem::path& file) {
  struct stat about {};
  if (stat(file.c_str(), &about) != 0) return std::nullopt;
  return NewFile::Access{about.st_mode & 0777U, about.st_uid, about.st_gid};
}

/// Returns a path beside `file` that a file system takes if it takes that: the name ends in `ending` and is not longer.
/// REQUIRES: the name has the length of `ending`.
std::filesystem::path with_ending(const std::filesystem::path& file, const std::string& ending) {
  const std::string name = file.filename().string();
  std::size_t size = name.size() - std::min(name.size(), ending.size());
  while (size > 0 && (static_cast<unsigned char>(name[size]) & 0xC0U) == 0x80U) --size;  // keeps UTF-8 whole
  return file.parent_path() / (name.substr(0, size) + ending);
}

/// Returns the path that a new file for `path` replaces: `path`, or the target if `path` is a symbolic link.
/// Throws FileError if a device, pipe or folder is there: renaming would remove it.
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
  if (!path.has_filename()) throw FileError(fmt::format("[{}] {}: not the name of a file", format, path.string()));
  if (!is_link) return path;
  fs::path target = fs::canonical(path, error);
  if (error) throw FileError(fmt::format("[{}] {}: {}", format, path.string(), error.message()));
  return target;
}

}  // namespace

NewFile::NewFile(std::string format, std::filesystem::path path)
    : format_(std::move(format)), path_(replaceable(format_, path)), replaced_(access_of(path_)) {
  bool is_long = false;
  for (int number = 0; number < kTemporaryMax;) {
    const std::string ending = fmt::format(".{}.new", number);
    new_path_ = is_long ? with_ending(path_, ending) : std::filesystem::path(path_.string() + ending);
    descriptor_ = open(new_path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, replaced_ ? 0600 : 0666);
    if (descriptor_ >= 0) return;
    if (errno == ENAMETOOLONG && !is_long && path_.filename().string().size() >= ending.size()) {
      is_long = true;
    } else if (errno == EEXIST) {
      ++number;
    } else if (errno != EINTR) {
      fail(errno);
    }
  }
  throw FileError(fmt::format("[{}] {}: {} temporary files are beside it, as {}", format_, path_.string(),
                              kTemporaryMax, new_path_.filename().string()));
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

void NewFile::seek(std::uint64_t at) {
  if (lseek(descriptor_, static_cast<off_t>(at), SEEK_SET) < 0) fail(errno);
}

void NewFile::commit() {
  path_ = replaceable(format_, path_);  // checks again: the file at `path` may have changed since
  if (const auto replaced = access_of(path_)) replaced_ = replaced;
  if (replaced_) set_access(*replaced_);
  while (fsync(descriptor_) != 0) {
    if (errno != EINTR) fail(errno);
  }
  const int closed = close(std::exchange(descriptor_, -1));
  if (closed != 0) fail(errno);
  path_ = replaceable(format_, path_);
  if (rename(new_path_.c_str(), path_.c_str()) != 0) fail(errno);
  new_path_.clear();
}

void NewFile::set_access(const Access& access) {
  const auto give_to = [&](uid_t owner) { return fchown(descriptor_, owner, access.group) == 0; };
  mode_t mode = access.mode;
  // A group that this process may not set loses its rights to those that others have.
  if (!give_to(access.owner) && !give_to(static_cast<uid_t>(-1))) mode = (mode & 0707U) | ((mode & 0007U) << 3U);
  struct stat now {};
  if (fstat(descriptor_, &now) != 0) fail(errno);
  // File systems without modes refuse to set one.
  if ((now.st_mode & 0777U) != mode && fchmod(descriptor_, mode) != 0) fail(errno);
}

void NewFile::fail(int error) const { fail_with(fmt::format("[{}] {}", format_, new_path_.string()), error); }

}  // namespace troupe::detail

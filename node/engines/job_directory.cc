#include "node/engines/job_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <span>
#include <utility>

#include "node/system_text.h"
#include "node/write_all.h"

namespace troupe::detail {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFilesMax = 300'000;  // three for each of 65,536 tasks, and more
constexpr mode_t kForOthers = 0077;

/// Returns why what has `status` is not this user's alone; empty if it is.
std::string exposure_of(const struct stat& status) {
  if (status.st_uid != geteuid()) return fmt::format("belongs to user {}, expected {}", status.st_uid, geteuid());
  if ((status.st_mode & kForOthers) == 0) return {};
  return fmt::format("has mode {:04o}: others may open it", status.st_mode & 07777U);
}

/// Returns whether nothing has the name (any more): over NFS a file may be replaced between two requests.
bool is_gone(int error) { return error == ENOENT || error == ESTALE; }

std::string temporary(const std::string& name) { return name + ".new"; }

}  // namespace

JobDirectory::JobDirectory(fs::path path) : path_(std::move(path)) {
  fs::path part;
  for (const fs::path& word : path_) {
    part /= word;
    if (mkdir(part.c_str(), 0700) == 0 || errno == EEXIST) continue;
    const int error = errno;  // of a folder above that is there but not ours to write
    struct stat status {};
    if (stat(part.c_str(), &status) != 0) {
      throw JobDirectoryError(fmt::format("cannot make {}: {}", part.string(), system_text(error)));
    }
  }
  if (!open().is_open()) fail("", system_text(ENOENT));
}

std::set<std::string> JobDirectory::names() const {
  const FileDescriptor directory = open();
  if (!directory.is_open()) return {};
  const int listed = fcntl(directory.get(), F_DUPFD_CLOEXEC, 0);
  const std::unique_ptr<DIR, int (*)(DIR*)> list(fdopendir(listed), &closedir);
  if (list == nullptr) fail("", system_text(errno));
  std::set<std::string> names;
  errno = 0;
  for (const dirent* entry = readdir(list.get()); entry != nullptr; entry = readdir(list.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() >= kFilesMax) fail("", fmt::format("has more than {} files", kFilesMax));
    names.emplace(name);
  }
  if (errno != 0 && !is_gone(errno)) fail("", system_text(errno));
  return names;
}

std::optional<std::string> JobDirectory::read(const std::string& name, std::size_t size_max) const {
  const FileDescriptor directory = open();
  if (!directory.is_open()) return std::nullopt;
  const FileDescriptor file(openat(directory.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.is_open() && is_gone(errno)) return std::nullopt;
  if (!file.is_open()) fail(name, errno == ELOOP ? "is a symbolic link" : system_text(errno));
  struct stat status {};
  if (fstat(file.get(), &status) != 0) {
    if (is_gone(errno)) return std::nullopt;
    fail(name, system_text(errno));
  }
  if (!S_ISREG(status.st_mode)) fail(name, "is no regular file");
  if (const std::string exposure = exposure_of(status); !exposure.empty()) fail(name, exposure);
  std::string text(size_max + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && is_gone(errno)) return std::nullopt;
    if (got < 0) fail(name, system_text(errno));
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > size_max) fail(name, fmt::format("has more than {} bytes", size_max));
  text.resize(size);
  return text;
}

void JobDirectory::write(const std::string& name, std::string_view text) const {
  const FileDescriptor directory = open();
  if (!directory.is_open()) fail("", system_text(ENOENT));
  const std::string fresh = temporary(name);
  unlinkat(directory.get(), fresh.c_str(), 0);  // left by an earlier life that ended here
  FileDescriptor file(
      openat(directory.get(), fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.is_open()) fail(fresh, system_text(errno));
  // Over NFS a full disk may be told by fsync.
  if (!write_all(file.get(), std::as_bytes(std::span(text))) || fsync(file.get()) != 0) fail(fresh, system_text(errno));
  file.close();
  if (renameat(directory.get(), fresh.c_str(), directory.get(), name.c_str()) != 0) fail(name, system_text(errno));
}

void JobDirectory::rename(const std::string& from, const std::string& to) const {
  const FileDescriptor directory = open();
  if (!directory.is_open()) fail("", system_text(ENOENT));
  if (renameat(directory.get(), from.c_str(), directory.get(), to.c_str()) != 0) fail(from, system_text(errno));
}

void JobDirectory::remove() const noexcept {
  try {
    const FileDescriptor directory = open();
    if (!directory.is_open()) return;
    for (const std::string& name : names()) unlinkat(directory.get(), name.c_str(), 0);
    rmdir(path_.c_str());
  } catch (const std::exception&) {
    return;  // it is left, as after a crash
  }
}

/// Returns no descriptor if there is no directory.
FileDescriptor JobDirectory::open() const {
  FileDescriptor directory(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!directory.is_open()) {
    if (is_gone(errno)) return directory;
    fail("", errno == ENOTDIR || errno == ELOOP ? "is a symbolic link or no directory" : system_text(errno));
  }
  struct stat status {};
  if (fstat(directory.get(), &status) != 0) fail("", system_text(errno));
  if (const std::string exposure = exposure_of(status); !exposure.empty()) fail("", exposure);
  return directory;
}

void JobDirectory::fail(const std::string& name, std::string_view what) const {
  throw JobDirectoryError(fmt::format("{} {}", (name.empty() ? path_ : path_ / name).string(), what));
}

}  // namespace troupe::detail

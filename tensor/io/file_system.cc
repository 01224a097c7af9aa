#include "tensor/io/file_system.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "tensor/io/opened_file.h"

namespace troupe {
namespace {

[[noreturn]] void fail(const std::string& path, int error) { detail::fail_with(fmt::format("[file] {}", path), error); }
void check(const std::string& path, const std::error_code& error) {
  if (error) fail(path, error.value());
}

/// Returns the error, or 0.
int sync(int descriptor) {
  while (fsync(descriptor) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

class DiskFile final : public OutputFile {
 public:
  explicit DiskFile(std::string path) : path_(std::move(path)) {
    do {
      descriptor_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (descriptor_ < 0 && errno == EINTR);
    if (descriptor_ < 0) fail(path_, errno);
  }
  ~DiskFile() override {
    if (descriptor_ >= 0) close(descriptor_);
  }

  void write(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
      if (count < 0 && errno != EINTR) fail(path_, errno);
      if (count > 0) bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
  }

  void finish() override {
    if (const int error = sync(descriptor_); error != 0) fail(path_, error);
    if (close(std::exchange(descriptor_, -1)) != 0) fail(path_, errno);
  }

 private:
  std::string path_;
  int descriptor_ = -1;
};

/// Returns the descriptor of a directory, or -1 and the error in errno.
int open_directory(const std::string& directory) {
  int descriptor = -1;
  do {
    descriptor = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  } while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

/// The lock belongs to its descriptor: another one cannot have it, not in this process either.
class DiskLock final : public DirectoryLock {
 public:
  explicit DiskLock(const std::string& directory) : descriptor_(open_directory(directory)) {
    if (descriptor_ < 0) fail(directory, errno);
  }
  ~DiskLock() override {
    flock(descriptor_, LOCK_UN);  // a process that was forked meanwhile has the descriptor too
    close(descriptor_);
  }

  /// Returns the error, or 0.
  [[nodiscard]] int take() const {
    while (flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EINTR) return errno;
    }
    return 0;
  }

 private:
  const int descriptor_;
};

class Disk final : public FileSystem {
 public:
  std::unique_ptr<OutputFile> create(const std::string& file) override { return std::make_unique<DiskFile>(file); }

  void rename(const std::string& from, const std::string& to) override {
    std::error_code error;
    std::filesystem::rename(from, to, error);
    check(to, error);
  }

  void remove(const std::string& file) override {
    if (unlink(file.c_str()) != 0) fail(file, errno);
  }

  bool make_directory(const std::string& directory) override {
    std::error_code error;
    const bool made = std::filesystem::create_directory(directory, error);
    check(directory, error);
    return made;
  }

  std::unique_ptr<DirectoryLock> lock_directory(const std::string& directory) override {
    auto lock = std::make_unique<DiskLock>(directory);
    const int error = lock->take();
    if (error == EWOULDBLOCK) throw FileError(fmt::format("[file] {}: another writer has locked it", directory));
    if (detail::says_never_locked(error)) return nullptr;
    if (error != 0) fail(directory, error);
    return lock;
  }

  std::string read(const std::string& file, std::size_t size_max) override {
    detail::OpenedFile opened("file", file);
    if (opened.size() > size_max)
      throw FileError(fmt::format("[file] {}: {} bytes, at most {}", file, opened.size(), size_max));
    std::string bytes(static_cast<std::size_t>(opened.size()), '\0');
    opened.read(std::as_writable_bytes(std::span(bytes)));
    return bytes;
  }

  void sync_directory(const std::string& directory) override {
    const int descriptor = open_directory(directory);
    const int error = descriptor < 0 ? errno : sync(descriptor);
    if (descriptor >= 0) close(descriptor);
    if (error != 0 && !detail::says_never_synced(error)) fail(directory, error);
  }

  std::vector<std::string> names_in(const std::string& directory) override {
    std::error_code error;
    std::vector<std::string> names;
    std::filesystem::directory_iterator at(directory, error);
    for (; !error && at != std::filesystem::directory_iterator(); at.increment(error))
      names.push_back(at->path().filename().string());
    check(directory, error);
    std::ranges::sort(names);
    return names;
  }
};

}  // namespace

bool detail::says_never_synced(int error) noexcept { return error == EACCES || error == EINVAL || error == EBADF; }

bool detail::says_never_locked(int error) noexcept {
  return error == EBADF || error == EINVAL || error == ENOLCK || error == ENOSYS || error == EOPNOTSUPP;
}

std::shared_ptr<FileSystem> disk() { return std::make_shared<Disk>(); }

}  // namespace troupe

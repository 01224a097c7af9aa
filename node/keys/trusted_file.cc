#include "node/keys/trusted_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "node/file_descriptor.h"
#include "node/write_all.h"

namespace troupe::detail {
namespace {

namespace fs = std::filesystem;

constexpr int kLinksMax = 40;
constexpr mode_t kOthersWrite = 0022;

Error file_failure(std::string message) {
  return Error{.code = ErrorCode::bad_argument, .message = std::move(message), .execution = Execution::never};
}

/// Something on the way to a file is not as it must be.
class Exposed : public std::runtime_error {
 public:
  Exposed(std::string what, std::string remedy) : std::runtime_error(std::move(what)), hint(std::move(remedy)) {}
  std::string hint;
};

bool is_in_group(gid_t group) {
  if (group == getegid()) return true;
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(getgroups(0, nullptr), 0)));
  const int count = getgroups(static_cast<int>(groups.size()), groups.data());
  return count > 0 && std::find(groups.begin(), groups.begin() + count, group) != groups.begin() + count;
}

struct stat status_of(const FileDescriptor& file, const fs::path& path) {
  struct stat status {};
  if (fstat(file.get(), &status) != 0)
    throw std::invalid_argument(path.string() + ": " + std::generic_category().message(errno));
  if (status.st_uid != 0 && status.st_uid != geteuid()) {
    throw Exposed(fmt::format("{} belongs to user {}, expected {} or root", path.string(), status.st_uid, geteuid()),
                  "");
  }
  return status;
}

void check_directory(const struct stat& status, const fs::path& path) {
  if ((status.st_mode & kOthersWrite) == 0 || (status.st_mode & S_ISVTX) != 0) return;
  throw Exposed(fmt::format("others may write to the directory {}, mode {:04o}", path.string(),
                            static_cast<unsigned>(status.st_mode) & 07777U),
                fmt::format("chmod go-w {}", path.string()));
}

void check_secret(const struct stat& status, const fs::path& path) {
  const auto for_others = static_cast<unsigned>(status.st_mode) & 0077U;
  const bool is_for_group = for_others == 0040 && status.st_uid == 0 && is_in_group(status.st_gid);
  if (for_others == 0 || is_for_group) return;
  throw Exposed(fmt::format("{} has mode {:04o}: others may open it", path.string(),
                            static_cast<unsigned>(status.st_mode) & 07777U),
                fmt::format("chmod 0600 {}", path.string()));
}

/// Goes from the root of the file system to a file, by directories that are held open, so that nothing that was checked
/// can be replaced.
class TrustedWalk {
 public:
  explicit TrustedWalk(const fs::path& path) { add_front(fs::absolute(path)); }

  FileDescriptor open_file() {
    start();
    while (!left_.empty()) {
      const fs::path word = std::move(left_.back());
      left_.pop_back();
      if (word.empty() || word == "." || word == "/") continue;
      const fs::path next = at_ / word;
      FileDescriptor entry(openat(directory_.get(), word.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
      if (!entry.is_open())
        throw std::invalid_argument(fmt::format("{}: {}", next.string(), std::generic_category().message(errno)));
      const struct stat status = status_of(entry, next);
      if (S_ISLNK(status.st_mode)) {
        follow(entry, next);
      } else if (S_ISDIR(status.st_mode)) {
        check_directory(status, next);
        directory_ = std::move(entry);
        at_ = next;
      } else if (left_.empty()) {
        return file_at(word, next);
      } else {
        throw std::invalid_argument(next.string() + " is no directory");
      }
    }
    throw std::invalid_argument(at_.string() + " is a directory");
  }

 private:
  void start() {
    at_ = "/";
    directory_ = FileDescriptor(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!directory_.is_open())
      throw std::invalid_argument(fmt::format("/: {}", std::generic_category().message(errno)));
    check_directory(status_of(directory_, at_), at_);
  }

  void follow(const FileDescriptor& link, const fs::path& path) {
    if (++links_ > kLinksMax) throw std::invalid_argument(path.string() + ": too many symbolic links");
    std::array<char, PATH_MAX> target{};
    const ssize_t size = readlinkat(link.get(), "", target.data(), target.size());
    if (size <= 0)
      throw std::invalid_argument(fmt::format("{}: {}", path.string(), std::generic_category().message(errno)));
    const fs::path to(std::string_view(target.data(), static_cast<std::size_t>(size)));
    if (to.is_absolute()) start();
    add_front(to);
  }

  FileDescriptor file_at(const fs::path& word, const fs::path& path) const {
    FileDescriptor file(openat(directory_.get(), word.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file.is_open())
      throw std::invalid_argument(fmt::format("{}: {}", path.string(), std::generic_category().message(errno)));
    const struct stat status = status_of(file, path);
    if (!S_ISREG(status.st_mode)) throw std::invalid_argument(path.string() + " is no regular file");
    check_secret(status, path);
    return file;
  }

  void add_front(const fs::path& path) {
    std::vector<fs::path> words(path.begin(), path.end());
    left_.insert(left_.end(), words.rbegin(), words.rend());
  }

  std::vector<fs::path> left_;  ///< the words to go, the next one last
  fs::path at_;                 ///< where directory_ is, for messages
  FileDescriptor directory_;
  int links_ = 0;
};

/// Reads to the end of `file` or until `into` is full; returns the number of bytes.
std::size_t read_all(const FileDescriptor& file, std::span<std::byte> into, const std::string& path) {
  std::size_t size = 0;
  while (size < into.size()) {
    const ssize_t got = ::read(file.get(), into.data() + size, into.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw std::invalid_argument(fmt::format("{}: {}", path, std::generic_category().message(errno)));
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  return size;
}

std::size_t size_of(const FileDescriptor& file, const std::string& path, std::size_t size_max) {
  struct stat status {};
  if (fstat(file.get(), &status) != 0)
    throw std::invalid_argument(fmt::format("{}: {}", path, std::generic_category().message(errno)));
  if (!S_ISREG(status.st_mode)) throw std::invalid_argument(path + " is no regular file");
  if (status.st_size == 0) throw std::invalid_argument(path + " is empty");
  if (static_cast<std::uintmax_t>(status.st_size) > size_max) {
    throw std::invalid_argument(fmt::format("{} has {} bytes, more than {}", path, status.st_size, size_max));
  }
  return static_cast<std::size_t>(status.st_size);
}

/// Writes and flushes a new file. Throws std::invalid_argument; then nothing is left of it.
void write_new(const std::string& path, std::span<const std::byte> bytes, mode_t mode) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!file.is_open())
    throw std::invalid_argument(fmt::format("cannot make {}: {}", path, std::generic_category().message(errno)));
  if (write_all(file.get(), bytes) && ::fsync(file.get()) == 0) return;
  const int error = errno;
  ::unlink(path.c_str());
  throw std::invalid_argument(fmt::format("cannot write {}: {}", path, std::generic_category().message(error)));
}

/// Returns where the file is that `path` names, which need not exist. Throws std::invalid_argument.
fs::path behind_links(const std::string& path) {
  fs::path place = path;
  for (int links = 0; links <= kLinksMax; ++links) {
    std::error_code no_link;
    const fs::path target = fs::read_symlink(place, no_link);
    if (no_link) return place;
    place = place.parent_path() / target;  // the target alone if it is absolute
  }
  throw std::invalid_argument(path + ": too many symbolic links");
}

}  // namespace

Result<LockedBytes> read_secret_file(const std::string& path, std::size_t size_max) {
  try {
    const FileDescriptor file = TrustedWalk(path).open_file();
    LockedBytes bytes(size_of(file, path, size_max));
    if (read_all(file, bytes.bytes(), path) == bytes.bytes().size()) return bytes;
    return file_failure(path + " became shorter while it was read");
  } catch (const Exposed& error) {
    return Error{
        .code = ErrorCode::not_authorized, .message = error.what(), .execution = Execution::never, .hint = error.hint};
  } catch (const std::invalid_argument& error) {
    return file_failure(error.what());
  }
}

Result<std::string> read_public_file(const std::string& path, std::size_t size_max) {
  try {
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!file.is_open()) return file_failure(fmt::format("{}: {}", path, std::generic_category().message(errno)));
    std::string text(size_of(file, path, size_max), '\0');
    text.resize(read_all(file, std::as_writable_bytes(std::span(text)), path));
    return text;
  } catch (const std::invalid_argument& error) {
    return file_failure(error.what());
  }
}

Result<Unit> write_secret_file(const std::string& path, std::span<const std::byte> bytes) {
  try {
    write_new(path, bytes, 0600);
    return Unit{};
  } catch (const std::invalid_argument& error) {
    return file_failure(error.what());
  }
}

Result<std::string> place_behind_links(const std::string& path) {
  try {
    return behind_links(path).string();
  } catch (const std::invalid_argument& error) {
    return file_failure(error.what());
  }
}

Result<Unit> write_public_file(const std::string& path, std::string_view text) {
  try {
    const std::string place = behind_links(path).string();
    const std::string fresh = place + ".new";
    ::unlink(fresh.c_str());  // of a run that ended here
    write_new(fresh, std::as_bytes(std::span(text)), 0644);
    if (::rename(fresh.c_str(), place.c_str()) == 0) return Unit{};
    return file_failure(fmt::format("cannot replace {}: {}", place, std::generic_category().message(errno)));
  } catch (const std::invalid_argument& error) {
    return file_failure(error.what());
  }
}

std::string why_planted(const struct stat& status) {
  if (!S_ISREG(status.st_mode)) return "it is not a regular file";
  if (status.st_uid != ::geteuid()) return fmt::format("it belongs to user {}", status.st_uid);
  if (status.st_nlink != 1) return "it has another name, too";
  return {};
}

}  // namespace troupe::detail

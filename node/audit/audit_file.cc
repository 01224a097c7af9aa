#include "node/audit/audit_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <system_error>
#include <utility>

#include "node/keys/trusted_file.h"
#include "node/write_all.h"

namespace troupe {
namespace {

constexpr std::size_t kTailMax = std::size_t{64} << 10;
constexpr int kCarefully = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
constexpr mode_t kOthersWrite = 0022;

/// Returns why `file` cannot be an audit log; empty if it can.
std::string complaint_about(const detail::FileDescriptor& file, std::size_t& size) {
  struct stat found {};
  if (::fstat(file.get(), &found) != 0) return strerror(errno);
  if (std::string why = detail::why_planted(found); !why.empty()) return why;
  // Unlike a log of what programs print: whoever writes here could take away what is said of them.
  if ((found.st_mode & kOthersWrite) != 0) return "others may write to it";
  size = static_cast<std::size_t>(found.st_size);
  return {};
}

/// Returns the end of a file from the beginning of a line on; empty if it cannot be read.
std::string tail_of(const std::filesystem::path& path) {
  const detail::FileDescriptor file(::open(path.c_str(), O_RDONLY | kCarefully));
  std::size_t size = 0;
  if (!file.is_open() || !complaint_about(file, size).empty()) return {};
  std::string text(std::min(size, kTailMax), '\0');
  const ssize_t got = ::pread(file.get(), text.data(), text.size(), static_cast<off_t>(size - text.size()));
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (text.size() < size) {
    const std::size_t end = text.find('\n');
    text.erase(0, end == std::string::npos ? text.size() : end + 1);
  }
  return text;
}

}  // namespace

Result<AuditFile> AuditFile::open(std::filesystem::path path, std::size_t bytes_max) {
  const auto refusal = [](const std::filesystem::path& at, std::string_view why) {
    return Error{.code = ErrorCode::bad_argument,
                 .message = fmt::format("cannot keep an audit log in {}: {}", at.string(), why),
                 .execution = Execution::never};
  };
  std::error_code error;
  std::filesystem::path absolute = std::filesystem::absolute(path, error);
  if (error) return refusal(path, error.message());
  AuditFile file(std::move(absolute), bytes_max);
  if (const std::string why = file.take_place(false); !why.empty()) return refusal(file.path_, why);
  file.tail_ = tail_of(file.size_ > 0 ? file.path_ : file.former());
  file.cut_off_ = file.size_ > 0 && !file.tail_.ends_with('\n');
  return file;
}

std::filesystem::path AuditFile::former() const { return path_.string() + ".1"; }

/// Opens path_. Returns why not.
std::string AuditFile::take_place(bool fresh) {
  // For reading, too: a FIFO without a reader would be refused with a text that says nothing.
  const int flags = O_RDWR | O_APPEND | O_CREAT | kCarefully | (fresh ? O_EXCL : 0);
  detail::FileDescriptor file(::open(path_.c_str(), flags, 0600));
  if (!file.is_open()) return errno == ELOOP ? "it is a symbolic link" : strerror(errno);
  std::size_t size = 0;
  if (const std::string why = complaint_about(file, size); !why.empty()) return why;
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  // Of this descriptor: a lock of the process would end when any other descriptor of the file is closed.
  if (::fcntl(file.get(), F_OFD_SETLK, &whole) != 0) return "another log is written to it";
  file_ = std::move(file);
  size_ = size;
  return {};
}

/// Returns why not.
std::string AuditFile::rotate() {
  if (::rename(path_.c_str(), former().c_str()) != 0 && errno != ENOENT) return strerror(errno);
  return take_place(true);
}

Result<Unit> AuditFile::append(std::string_view line) {
  const auto failure = [this](std::string_view why) {
    return Error{.code = ErrorCode::bad_argument,
                 .message = fmt::format("cannot write {}: {}", path_.string(), why),
                 .execution = Execution::never};
  };
  if (left_over_ && ::ftruncate(file_.get(), static_cast<off_t>(size_)) != 0) return failure(strerror(errno));
  left_over_ = false;
  std::string text = cut_off_ ? "\n" : "";
  text += line;
  if (size_ > 0 && size_ + text.size() > bytes_max_) {
    if (const std::string why = rotate(); !why.empty()) return failure(why);
    text = line;
    cut_off_ = false;
  }
  if (!detail::write_all(file_.get(), std::as_bytes(std::span(text)))) {
    const int error = errno;
    left_over_ = ::ftruncate(file_.get(), static_cast<off_t>(size_)) != 0;
    return failure(strerror(error));
  }
  size_ += text.size();
  cut_off_ = false;
  return Unit{};
}

void AuditFile::sync() const { (void)::fdatasync(file_.get()); }

}  // namespace troupe

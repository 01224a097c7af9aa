#include "node/launch/log_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <span>
#include <system_error>
#include <utility>

#include "node/config/config.h"
#include "node/keys/trusted_file.h"
#include "node/write_all.h"

namespace troupe::detail {
namespace {

constexpr std::string_view kEndsOfLines = "\r\n";  // a progress bar that is drawn anew ends no other way than by "\r"

/// Opens a file for writing, which no other run opens as long as it is open. Others may be able to write to the
/// directory: nothing that they planted there is written to, and nothing is waited for. Returns why not.
std::string open_alone(const std::filesystem::path& path, FileDescriptor& into) {
  constexpr int kFlags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  FileDescriptor file(open(path.c_str(), kFlags, 0644));
  if (!file.is_open()) return errno == ELOOP ? "it is a symbolic link" : strerror(errno);
  struct stat found {};
  if (::fstat(file.get(), &found) != 0) return strerror(errno);
  // Others may write to it, unlike to an audit log: what programs print proves nothing.
  if (std::string why = why_planted(found); !why.empty()) return why;
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return "a run that has not ended writes it, give each run a directory of its own";
  into = std::move(file);
  return {};
}

ConfigError unwritable(const std::filesystem::path& path, std::string_view why) {
  return ConfigError({fmt::format("command line: --log-dir: cannot write {}: {}", path.string(), why)});
}

}  // namespace

LogFiles::LogFiles(const std::filesystem::path& directory, const std::vector<std::string>& names) {
  if (directory.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    throw ConfigError(
        {fmt::format("command line: --log-dir: cannot make {}: {}", directory.string(), error.message())});
  }
  for (const std::string& name : names) {
    File file{.path = directory / (name + ".log"), .descriptor = {}};
    if (const std::string why = open_alone(file.path, file.descriptor); !why.empty()) throw unwritable(file.path, why);
    files_.push_back(std::move(file));
  }
  for (const File& file : files_) {
    if (::ftruncate(file.descriptor.get(), 0) != 0) throw unwritable(file.path, strerror(errno));
  }
}

LogFiles::~LogFiles() {
  for (File& file : files_) static_cast<void>(tell_loss(file));
}

std::string LogFiles::write(std::size_t node, std::string_view bytes) {
  if (files_.empty()) return {};
  File& file = files_[node];
  if (file.lost_in_line) {
    const std::size_t end = bytes.find_first_of(kEndsOfLines);
    const std::string_view rest = bytes.substr(0, end == std::string_view::npos ? end : end + 1);
    lose(file, rest);
    bytes.remove_prefix(rest.size());
  }
  return append(file, bytes);
}

std::string LogFiles::write_line(std::size_t node, std::string_view line) {
  if (files_.empty()) return {};
  File& file = files_[node];
  const bool node_lost_in_line = file.lost_in_line;
  const bool ends_line = file.in_line && file.lost.bytes == 0;  // else the line about the loss ends it
  std::string trouble = append(file, fmt::format("{}{}\n", ends_line ? "\n" : "", line));
  file.lost_in_line = node_lost_in_line;
  return trouble;
}

std::string LogFiles::append(File& file, std::string_view bytes) {
  if (bytes.empty()) return {};
  const bool loses = file.lost.bytes > 0 || !file.gap.empty();
  const std::size_t written = tell_loss(file) ? put(file, bytes) : 0;
  if (written == bytes.size()) return {};
  const int error = errno;
  lose(file, bytes.substr(written));
  if (loses && written == 0) return {};
  file.why = strerror(error);
  return fmt::format("cannot write {}: {}: output is lost there until there is room", file.path.string(), file.why);
}

void LogFiles::lose(File& file, std::string_view bytes) {
  if (bytes.empty()) return;
  file.lost.bytes += bytes.size();
  file.lost.lines += static_cast<std::uint64_t>(std::ranges::count(bytes, '\n'));
  file.lost_in_line = kEndsOfLines.find(bytes.back()) == std::string_view::npos;
}

/// Returns how much the file takes; if not all, errno says why.
std::size_t LogFiles::put(File& file, std::string_view bytes) {
  const std::size_t written = write_most(file.descriptor.get(), std::as_bytes(std::span(bytes)));
  if (written > 0) file.in_line = bytes[written - 1] != '\n';
  return written;
}

/// Returns whether the file says all that was lost; if not, errno says why.
bool LogFiles::tell_loss(File& file) {
  while (file.lost.bytes > 0 || !file.gap.empty()) {
    const bool is_new = file.gap.empty();
    if (is_new) {
      file.gap = fmt::format("{}[troupe] {}\n", file.in_line ? "\n" : "",
                             text_of(file.lost, file.path.stem().string(), file.why));
    }
    const std::size_t written = put(file, file.gap);
    const int error = errno;
    if (is_new && written > 0) file.lost = {};
    const bool is_told = written == file.gap.size();
    file.gap.erase(0, is_new && written == 0 ? std::string::npos : written);
    errno = error;
    if (!is_told) return false;
  }
  return true;
}

}  // namespace troupe::detail

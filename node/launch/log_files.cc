#include "node/launch/log_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <system_error>
#include <utility>

#include "node/config/config.h"
#include "node/keys/trusted_file.h"
#include "node/write_all.h"

namespace troupe::detail {
namespace {

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
    File file{directory / (name + ".log"), {}, false};
    if (const std::string why = open_alone(file.path, file.descriptor); !why.empty()) throw unwritable(file.path, why);
    files_.push_back(std::move(file));
  }
  for (const File& file : files_) {
    if (::ftruncate(file.descriptor.get(), 0) != 0) throw unwritable(file.path, strerror(errno));
  }
}

std::string LogFiles::write(std::size_t node, std::string_view bytes) {
  if (files_.empty() || !files_[node].descriptor.is_open()) return {};
  File& file = files_[node];
  if (!bytes.empty()) file.in_line = !bytes.ends_with('\n');
  if (write_all(file.descriptor.get(), std::as_bytes(std::span(bytes)))) return {};
  const int error = errno;
  file.descriptor.close();
  return fmt::format("cannot write {}: {}", file.path.string(), strerror(error));
}

std::string LogFiles::write_line(std::size_t node, std::string_view line) {
  const bool in_line = !files_.empty() && files_[node].in_line;
  return write(node, fmt::format("{}{}\n", in_line ? "\n" : "", line));
}

}  // namespace troupe::detail

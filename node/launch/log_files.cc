#include "node/launch/log_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "node/config/config.h"

namespace troupe::detail {

LogFiles::LogFiles(const std::filesystem::path& directory, const std::vector<std::string>& names) {
  if (directory.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    throw ConfigError(
        {fmt::format("command line: --log-dir: cannot make {}: {}", directory.string(), error.message())});
  }
  for (const std::string& name : names) {
    File file{directory / (name + ".log"), {}};
    file.descriptor = FileDescriptor(open(file.path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!file.descriptor.is_open()) {
      throw ConfigError(
          {fmt::format("command line: --log-dir: cannot write {}: {}", file.path.string(), strerror(errno))});
    }
    files_.push_back(std::move(file));
  }
}

std::string LogFiles::write(std::size_t node, std::string_view bytes) {
  if (files_.empty() || !files_[node].descriptor.is_open()) return {};
  File& file = files_[node];
  while (!bytes.empty()) {
    const ssize_t size = ::write(file.descriptor.get(), bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) {
      const int error = errno;
      file.descriptor.close();
      return fmt::format("cannot write {}: {}", file.path.string(), strerror(error));
    }
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return {};
}

}  // namespace troupe::detail

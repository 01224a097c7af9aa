#include "node/links/socket_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string_view>
#include <utility>

namespace troupe::detail {

SocketFile::SocketFile(const std::string& address) {
  constexpr std::string_view kScheme = "ipc://";
  if (!address.starts_with(kScheme)) return;
  std::string path = address.substr(kScheme.size());
  struct stat status {};
  if (path.starts_with('@') || ::stat(path.c_str(), &status) != 0) return;
  path_ = std::move(path);
  device_ = status.st_dev;
  number_ = status.st_ino;
  process_ = ::getpid();
}

void SocketFile::remove() noexcept {
  const std::string path = std::exchange(path_, {});
  struct stat status {};
  if (path.empty() || process_ != ::getpid() || ::lstat(path.c_str(), &status) != 0) return;
  if (status.st_dev == device_ && status.st_ino == number_) (void)::unlink(path.c_str());
}

}  // namespace troupe::detail

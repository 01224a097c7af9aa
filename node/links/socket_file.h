// The file of a unix socket at which this process listens.
#pragma once

#include <sys/types.h>

#include <string>

namespace troupe::detail {

/// ZeroMQ replaces an existing file when it listens, and does not remove its own at the end. `remove` does, unless
/// another process listens there by then. Thread rule: one thread at a time.
class SocketFile {
 public:
  SocketFile() = default;

  /// The file at which a socket listens now; none for an address of another kind or without a file.
  explicit SocketFile(const std::string& address);

  /// In a child that was forked since, it does nothing.
  void remove() noexcept;

 private:
  std::string path_;  ///< "": none
  dev_t device_ = 0;
  ino_t number_ = 0;
  pid_t process_ = 0;  ///< that listens
};

}  // namespace troupe::detail

// A file descriptor held in reserve, for the moment when a process may open no more.
#pragma once

#include <fcntl.h>

#include "node/file_descriptor.h"

namespace troupe::detail {

/// Lets a thread receive a descriptor although the process may open no more: it gives the spare one up first, and takes
/// it back once the received one is closed. Otherwise poll would report a waiting connection for ever. Thread rule: one
/// thread at a time.
class SpareDescriptor {
 public:
  /// Opens the spare one, unless it is open. Without effect if no descriptor is free.
  void take_back() noexcept {
    if (!file_.is_open()) file_ = FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  }
  /// Closes the spare one. Returns whether it was open.
  bool give_up() noexcept {
    const bool was_open = file_.is_open();
    file_.close();
    return was_open;
  }

 private:
  FileDescriptor file_;
};

}  // namespace troupe::detail

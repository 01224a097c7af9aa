// A file descriptor held in reserve, for the moment when a process may open no more.
#pragma once

#include <fcntl.h>

#include "node/file_descriptor.h"

namespace troupe::detail {

/// For a thread that must take a descriptor from the system, or poll would report it for ever: the thread gives the
/// spare one up first, and takes it back once it has closed the other one. Thread rule: one thread at a time.
class SpareDescriptor {
 public:
  /// Opens it, unless it is open. Without effect if no descriptor is free.
  void take_back() noexcept {
    if (!file_.is_open()) file_ = FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  }
  /// Returns whether there was one.
  bool give_up() noexcept {
    const bool was_open = file_.is_open();
    file_.close();
    return was_open;
  }

 private:
  FileDescriptor file_;
};

}  // namespace troupe::detail

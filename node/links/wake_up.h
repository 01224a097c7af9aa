// Wakes a thread that waits for descriptors.
#pragma once

#include <sys/eventfd.h>

#include <cerrno>
#include <system_error>

#include "node/file_descriptor.h"

namespace troupe::detail {

/// Thread rule: any thread may call any member.
class WakeUp {
 public:
  WakeUp() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!descriptor_.is_open()) throw std::system_error(errno, std::generic_category(), "eventfd");
  }

  void ring() const { (void)::eventfd_write(descriptor_.get(), 1); }
  void silence() const {
    ::eventfd_t ignored = 0;
    (void)::eventfd_read(descriptor_.get(), &ignored);
  }
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }

 private:
  const FileDescriptor descriptor_;
};

}  // namespace troupe::detail

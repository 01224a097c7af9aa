// The limit of this process's open descriptors: a shell's is soft and often 1,024, and each connection, node and host
// takes several.
#pragma once

#include <sys/resource.h>

namespace troupe::detail {

/// Raises the limit to the highest that the process may have. Returns what it was before.
inline rlimit raise_descriptor_limit() noexcept {
  rlimit before{};
  if (::getrlimit(RLIMIT_NOFILE, &before) != 0) return {RLIM_INFINITY, RLIM_INFINITY};
  const rlimit raised{before.rlim_max, before.rlim_max};
  if (before.rlim_cur != before.rlim_max) (void)::setrlimit(RLIMIT_NOFILE, &raised);
  return before;
}

/// The limit is raised while it lives.
class RaisedDescriptorLimit {
 public:
  RaisedDescriptorLimit() noexcept : before_(raise_descriptor_limit()) {}
  ~RaisedDescriptorLimit() { restore(); }
  RaisedDescriptorLimit(const RaisedDescriptorLimit&) = delete;
  RaisedDescriptorLimit& operator=(const RaisedDescriptorLimit&) = delete;

  /// Gives the calling process the limit that there was before. A child between fork and exec may call it: a program
  /// that uses select() can do so with low descriptors only.
  void restore() const noexcept {
    if (before_.rlim_cur != before_.rlim_max) (void)::setrlimit(RLIMIT_NOFILE, &before_);
  }

 private:
  rlimit before_;
};

}  // namespace troupe::detail

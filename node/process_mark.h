// A mark of the process that made it: a child that is forked later does not have it.
#pragma once

#include <atomic>
#include <memory>

namespace troupe::detail {

/// Returns a flag that is true in this process, and false in its copy in a child that is forked later. To read it takes
/// no system call. Null if the system has no such memory (before Linux 4.14).
[[nodiscard]] std::shared_ptr<const std::atomic<bool>> mark_of_this_process();

}  // namespace troupe::detail

// The first process of a container, pid 1, as a program can be: the kernel drops the signals that it has no handler
// for, SIGTERM too, and gives it the container's orphans.
#pragma once

namespace troupe::detail {

/// Forks and returns in the child, which is a process like others. This process passes all signals on to it that
/// another process sends, reaps what ends, and exits with the child's status when that ends, 128 + N for signal N.
/// Throws SpawnError if the system makes no process. REQUIRES: a process with one thread.
void leave_first_process();

}  // namespace troupe::detail

// A process that starts no programs.
#pragma once

namespace troupe {

/// From now on the kernel kills, with SIGSYS, this process or a child that it forked when that process starts a program
/// (execve) or makes a call that accesses another process (ptrace, process_vm_readv, pidfd_getfd). So an attacker who
/// runs code in this process gets no shell. `system` and `popen` fail, since only their child is killed. It cannot be
/// undone, and holds for all threads, and all nodes, of the process; programs with more privileges gain none.
///
/// Memory of other processes (/proc/PID/mem) is refused by Landlock to this thread and those that it starts, not to
/// threads that run already, as OpenBLAS has them from the start. So `troupe up` and `troupe node` start a node's
/// program with that refusal (process_domain.h); without them, call this before there are threads. Where the kernel has
/// no Landlock (before Linux 5.19, or switched off) nothing refuses it; the log says so, as info. Thread rule: any
/// thread. Throws std::system_error if the kernel has no seccomp.
void confine_process();

}  // namespace troupe

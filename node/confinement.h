// A process that starts no programs.
#pragma once

namespace troupe {

/// From now on the kernel kills, with SIGSYS, this process and each child that it forks when it starts a program
/// (execve) or calls what reaches into another process (ptrace, process_vm_readv, pidfd_getfd): whoever gets code to
/// run in it gets no shell. So `system` and `popen` fail, while the process itself lives on. It cannot be undone, and
/// holds for all threads, and all nodes, of the process; programs with more privileges gain none either.
///
/// Memory of other processes (/proc/PID/mem) is refused by Landlock to this thread and those that it starts, not to
/// threads that run already, as OpenBLAS has them from the start. So `troupe up` and `troupe node` start a node's
/// program with that refusal (process_domain.h); without them, call this before there are threads. Where the kernel has
/// no Landlock (before Linux 5.19, or switched off) nothing refuses it; the log says so, as info. Thread rule: any
/// thread. Throws std::system_error if the kernel has no seccomp.
void confine_process();

}  // namespace troupe

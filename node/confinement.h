// A process that starts no programs.
#pragma once

namespace troupe {

/// From now on the kernel kills, with SIGSYS, this process and each child that it forks when it starts a program
/// (execve) or reaches into another process (ptrace, process_vm_readv, pidfd_getfd): whoever gets code to run in it
/// gets no shell. So `system` and `popen` fail, while the process itself lives on. It cannot be undone, and holds for
/// all threads, and all nodes, of the process; programs with more privileges gain none either. Thread rule: any thread.
/// Throws std::system_error if the kernel has no seccomp.
void confine_process();

}  // namespace troupe

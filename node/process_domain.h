// A domain of Landlock: to what runs in it, the memory of other processes is closed.
#pragma once

#include "node/file_descriptor.h"

namespace troupe::detail {

/// Returns the rules of a domain; no open descriptor if the kernel has no Landlock, or one that cannot allow renames
/// (before Linux 5.19). Throws std::system_error.
[[nodiscard]] FileDescriptor domain_rules();

/// Puts this thread, what it starts from now on, and the program that it becomes into a new domain. They reach no
/// memory of processes outside it, by ptrace(2) or by /proc/PID/mem, which is read and written with the calls of any
/// file; nor do they mount file systems. All else is as it was, and threads that run already are as they were. Returns
/// false if it cannot; errno says why: E2BIG in 16 domains already. Async-signal-safe. REQUIRES: `rules` are those of
/// domain_rules(); PR_SET_NO_NEW_PRIVS.
[[nodiscard]] bool enter_domain(int rules) noexcept;

}  // namespace troupe::detail

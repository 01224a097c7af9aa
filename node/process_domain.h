// A domain of Landlock: programs in it cannot access the memory of processes outside it.
#pragma once

#include "node/file_descriptor.h"

namespace troupe::detail {

/// Returns the rules of a domain; no open descriptor if the kernel has no Landlock, or one that cannot allow renames
/// (before Linux 5.19). Throws std::system_error.
[[nodiscard]] FileDescriptor domain_rules();

/// Puts this thread, what it starts from now on, and the program that it executes into a new domain. They cannot access
/// the memory of processes outside the domain, by ptrace(2) or by /proc/PID/mem, which is read and written with the
/// calls of any file; nor can they mount file systems. Nothing else changes for them, and nothing at all for threads
/// that run already. Returns false if it fails, with the reason in errno (E2BIG in 16 domains already).
/// Async-signal-safe. REQUIRES: `rules` are those of domain_rules(); PR_SET_NO_NEW_PRIVS.
[[nodiscard]] bool enter_domain(int rules) noexcept;

}  // namespace troupe::detail

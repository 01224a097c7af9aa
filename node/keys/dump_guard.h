// Keys do not end in files that nobody meant to write.
#pragma once

namespace troupe {

/// From now on this process leaves no core dump, and other processes of the same user can neither attach to it nor read
/// its memory (PR_SET_DUMPABLE): libzmq keeps copies of keys in ordinary memory. The soft limit of core files becomes
/// 0; a program that wants them all the same may raise it again, and set PR_SET_DUMPABLE. Thread rule: any thread.
void forbid_dumps();

/// The same without the limit, which programs inherit that this process starts: they can be dumped and read as ever.
/// Children that it only forks cannot. Thread rule: any thread.
void forbid_attaching();

}  // namespace troupe

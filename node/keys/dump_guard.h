// Prevents core dumps and debuggers, so that keys do not get into files.
#pragma once

namespace troupe {

/// From now on this process leaves no core dump, and other processes of the same user can neither attach to it nor read
/// its memory (PR_SET_DUMPABLE): libzmq keeps copies of keys in ordinary memory. The soft limit of core files becomes
/// 0; a program that wants them all the same may raise it again, and set PR_SET_DUMPABLE. Thread rule: any thread.
void forbid_dumps();

/// As above, but leaves the limit of core files as it is: programs that this process starts can be dumped and attached
/// to as usual. Children that it only forks cannot. Thread rule: any thread.
void forbid_attaching();

}  // namespace troupe

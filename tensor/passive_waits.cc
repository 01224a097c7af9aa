// Compiled into a program (troupe::passive_waits), never into a library: OpenMP's threads sleep between parallel loops,
// as in processes that `troupe up` starts. Spinning threads take the processor from other nodes of the machine.
//
// libgomp reads OMP_WAIT_POLICY when it is initialised, before any constructor of the program. Functions in
// .preinit_array run before that, but libc forgets what they tell `setenv`: it is initialised after them, with the
// array that the kernel has made, which has no room for an entry more. So the policy takes the place of a variable that
// libraries do not read while they are initialised. The program's first constructor returns it. A policy that the user
// has set stays; where the environment has none of these variables, threads spin. A sanitizer that starts the program
// again before its first constructor loses the variable.
#include <cstdlib>

extern "C" char** environ;  // POSIX leaves its declaration to programs

namespace {

char policy[] = "OMP_WAIT_POLICY=passive";
char* displaced = nullptr;  // what stood in its place

// No sanitizer is up yet, and no function of libc is needed.
__attribute__((no_sanitize("address", "thread"))) void wait_passively(int /*argc*/, char** /*argv*/, char** variables) {
  static const char* const names[] = {
      "OMP_WAIT_POLICY=", "_=", "SHLVL=", "OLDPWD=", "PWD=", "TERM=", "SHELL=", "HOME=", "PATH="};
  for (const char* const& name : names) {
    for (char** variable = variables; *variable != nullptr; ++variable) {
      int length = 0;
      while (name[length] != '\0' && name[length] == (*variable)[length]) ++length;
      if (name[length] != '\0') continue;
      if (&name == &names[0]) return;
      displaced = *variable;
      *variable = policy;
      return;
    }
  }
}

__attribute__((section(".preinit_array"), used)) void (*const before_libraries)(int, char**, char**) = &wait_passively;

__attribute__((constructor(101))) void give_back() {
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    if (*variable == policy) *variable = displaced;
  }
  ::setenv("OMP_WAIT_POLICY", "passive", 0);
}

}  // namespace

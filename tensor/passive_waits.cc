// Compiled into a program (troupe::passive_waits), never into a library: OpenMP's threads sleep between parallel loops,
// as in processes that `troupe up` starts. Spinning threads take the processor from other nodes of the machine.
//
// libgomp reads OMP_WAIT_POLICY when it is initialised, before any constructor of the program. Functions in
// .preinit_array run before that. A policy that the user has set stays.
#include <cstdlib>

namespace {

// The address sanitizer may not be up yet.
__attribute__((no_sanitize_address)) void wait_passively(int /*argc*/, char** /*argv*/, char** /*environment*/) {
  ::setenv("OMP_WAIT_POLICY", "passive", 0);
}

__attribute__((section(".preinit_array"), used)) void (*const before_libraries)(int, char**, char**) = &wait_passively;

}  // namespace

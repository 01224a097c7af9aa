// Another user of this machine: sockets that a thread of his makes are his, as the kernel reports it.
#pragma once

#include <boost/test/unit_test.hpp>

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <future>
#include <system_error>
#include <utility>

namespace troupe::testing {

inline constexpr uid_t kStranger = 65534;
inline constexpr uid_t kBystander = 65533;  ///< a third user

/// Makes `user` the user of this thread and of those that it starts. The library's functions of these names would
/// change all threads of the process. Throws std::system_error.
inline void become_user(uid_t user) {
  if (::syscall(SYS_setresgid, user, user, user) == 0 && ::syscall(SYS_setresuid, user, user, user) == 0) return;
  throw std::system_error(errno, std::generic_category(), "cannot become another user");
}

/// Returns the result of `action` on a thread of `user`.
template <class Action>
auto as_user(uid_t user, Action action) {
  return std::async(std::launch::async,
                    [user, action = std::move(action)] {
                      become_user(user);
                      return action();
                    })
      .get();
}

/// A precondition: it needs the privilege to be another user.
inline boost::test_tools::assertion_result may_be_another_user(boost::unit_test::test_unit_id /*unit*/) {
  try {
    return as_user(kStranger, [] { return true; });
  } catch (const std::system_error& error) {
    boost::test_tools::assertion_result result(false);
    result.message() << error.what();
    return result;
  }
}

}  // namespace troupe::testing

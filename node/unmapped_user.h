// Users that this process's user namespace does not map: the kernel shows all of them as one.
#pragma once

#include <sys/types.h>

#include <string_view>

namespace troupe::detail {

/// Returns whether `user`, whom the kernel named as this process or as one at a socket's other end, may be several:
/// where a namespace does not map all users, those that it lacks are shown as the overflow uid ("nobody").
/// `overflow_uid` and `uid_map`: the texts of /proc/sys/kernel/overflowuid and /proc/self/uid_map; what cannot be read
/// is taken for 65534, and for a namespace that maps nobody.
[[nodiscard]] bool may_be_several(uid_t user, std::string_view overflow_uid, std::string_view uid_map);

/// As above, of this process's namespace.
[[nodiscard]] bool may_be_several(uid_t user);

}  // namespace troupe::detail

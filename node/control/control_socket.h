// Where a running process answers `troupe status` and `troupe stack`: a unix socket in the abstract namespace, so that no
// file is left behind, whoever dies. Everybody on the machine can connect, so both ends look at who the kernel says the
// other one is: a process answers its own user and root, and nobody else is asked.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/file_descriptor.h"

namespace troupe {

/// Which process of which cluster.
struct ControlName {
  std::string cluster_id;
  std::string node;  ///< empty: the launcher, which knows all its nodes

  /// The socket's name, without the leading zero: "troupe-control/4f2a.../trainer0".
  [[nodiscard]] std::string text() const;

  friend auto operator<=>(const ControlName&, const ControlName&) = default;
};

/// The ControlName that `text` stands for; nothing if it is none.
[[nodiscard]] std::optional<ControlName> parse_control_name(std::string_view text);

namespace detail {

/// A process at the other end of a socket, as the kernel tells.
struct ControlPeer {
  pid_t pid = 0;
  uid_t user = static_cast<uid_t>(-1);  ///< -1: unknown
};

/// Whether processes of `asker` get answers of processes of `answerer`.
[[nodiscard]] bool may_ask(uid_t asker, uid_t answerer);

/// Listens, without blocking. Throws std::system_error (address in use), std::invalid_argument (a name that is too long
/// or has other characters than names have).
[[nodiscard]] FileDescriptor listen_at(const ControlName& name);

/// Connects, without blocking. If that cannot be it is not open, and errno says why: ECONNREFUSED if nobody listens.
[[nodiscard]] FileDescriptor connect_to(const ControlName& name);

/// Who has the socket's other end.
[[nodiscard]] ControlPeer peer_of(const FileDescriptor& socket);

/// All names at which some process of this machine listens, of whatever user, sorted. `sockets` is what /proc/net/unix
/// holds.
[[nodiscard]] std::vector<ControlName> control_names(const std::string& sockets);
[[nodiscard]] std::vector<ControlName> control_names();

}  // namespace detail

}  // namespace troupe

// The address at which a running process answers `troupe status` and `troupe stack`: a unix socket in the abstract
// namespace, which leaves no file behind. Every process on the machine can connect, so both ends check the other's
// user, as the kernel reports it: a process answers its own user and root only, and only such processes are asked.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/file_descriptor.h"

namespace troupe {

/// A process of a cluster.
struct ControlName {
  std::string cluster_id;
  std::string node;  ///< empty: the launcher; "@HOST": that of the part of one [[host]] (`troupe up --host`)

  [[nodiscard]] bool is_launcher() const { return node.empty() || node.front() == '@'; }

  /// Returns the socket's name, without the leading zero: "troupe-control/4f2a.../trainer0".
  [[nodiscard]] std::string text() const;

  friend auto operator<=>(const ControlName&, const ControlName&) = default;
};

/// Returns the ControlName with this text; nullopt if there is none.
[[nodiscard]] std::optional<ControlName> parse_control_name(std::string_view text);

namespace detail {

/// The process at the other end of a socket, as the kernel reports it.
struct ControlPeer {
  pid_t pid = 0;
  uid_t user = static_cast<uid_t>(-1);  ///< -1: unknown, or one of those whom its user namespace shows as one
};

/// Returns whether processes of user `answerer` answer those of user `asker`.
[[nodiscard]] bool may_ask(uid_t asker, uid_t answerer);

/// Listens, without blocking. Throws std::system_error (address in use), std::invalid_argument (a name that is too long
/// or has invalid characters).
[[nodiscard]] FileDescriptor listen_at(const ControlName& name);

/// Connects, without blocking. On failure the result is not open, and errno has the reason: ECONNREFUSED if no process
/// listens.
[[nodiscard]] FileDescriptor connect_to(const ControlName& name);

/// Returns the process at the socket's other end.
[[nodiscard]] ControlPeer peer_of(const FileDescriptor& socket);

/// Returns all names at which a process of this machine listens, of any user, sorted. `sockets`: the text of
/// /proc/net/unix.
[[nodiscard]] std::vector<ControlName> control_names(const std::string& sockets);
[[nodiscard]] std::vector<ControlName> control_names();

}  // namespace detail

}  // namespace troupe

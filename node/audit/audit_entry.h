// What a node tells its audit log.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace troupe {

enum class AuditEvent : std::uint8_t {
  opened,        ///< the log, by a life of the node
  closed,        ///< the log, at that life's end
  joined,        ///< a peer is up
  left,          ///< a peer that was up is not any more
  refused,       ///< a connection, its key, its handshake or its message
  denied,        ///< a call that is not granted, or that this node does not serve
  limit,         ///< something was turned away because there is too much of it
  head,          ///< a peer has told of the last line of its own log
  keys_changed,  ///< a newer list of members counts, or the node goes on with a new key of its own
  lost           ///< earlier entries, which the disk did not take
};

/// "keys_changed"
[[nodiscard]] std::string_view name_of(AuditEvent event);

/// One event. Peers choose parts of these texts: they may hold any bytes.
struct AuditEntry {
  AuditEvent event = AuditEvent::refused;
  std::string reason = {};   ///< why, in a few words that are the same for equal events
  std::string peer = {};     ///< the name that it has, or says that it has; empty: unknown
  std::string address = {};  ///< empty: unknown
  std::uint64_t line = 0;    ///< of a head: the number of the peer's line
  std::string hash = {};     ///< of a head: of that line, in hexadecimal digits
  friend auto operator<=>(const AuditEntry&, const AuditEntry&) = default;
};

/// Takes entries on any thread, without waiting for a file. May be empty.
using AuditSink = std::function<void(const AuditEntry&)>;

}  // namespace troupe

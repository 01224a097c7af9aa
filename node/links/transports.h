// The kinds of links between nodes, each with the scheme of its addresses.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "actors/link.h"
#include "actors/sessions/silence_limits.h"
#include "messages/error.h"
#include "node/keys/key_ring.h"
#include "node/links/secret.h"
#include "node/links/tcp_place.h"

namespace troupe {

struct AuditEntry;

/// A node's request for a link.
struct LinkRequest {
  NodeName name;
  Incarnation incarnation;
  std::string cluster_id;
  ClusterSecret secret = ClusterSecret::random();
  Network network = Network::loopback;
  std::optional<KeyRing> keys = {};                      ///< with Network::keys
  FailureDetectorOptions silence = {};                   ///< for links between processes
  std::size_t shared_memory_max = std::size_t{2} << 30;  ///< for tensors that peers on this host read in place
  bool rings = true;                                     ///< small messages within a host take shared memory
  bool spins = true;                           ///< threads that wait for these look for 200 us before they sleep
  std::string first = {};                      ///< the address of the cluster's first node, if that is another one
  std::string listen;                          ///< "SCHEME://PLACE"; "SCHEME://" alone: the transport chooses
  std::map<std::string, std::string> options;  ///< by name, as the transport defines them
  std::function<void(std::string_view line)> log;
  std::function<void(const AuditEntry&)> audit = {};  ///< told of peers that come, go and are refused
};

/// A transport, which opens links.
struct LinkKind {
  std::function<Result<std::unique_ptr<Link>>(LinkRequest)> open;
  std::set<std::string> options{};  ///< names of the options that `open` accepts
};

/// The transports of a node. "tcp" and "ipc" are built in:
///
///   tcp   "tcp://127.0.0.1:*", any free port   options: advertise, connect_patience, handshake_timeout,
///                                                 ports, streams, stream_ports
///         HOST is a numeric address (IPv6 in brackets), the name of an interface or of a host, or "*": then
///         `advertise`,
///         "tcp://HOST:PORT" with "*" for the bound port, is the address told to peers.
///         `ports`, "LOW-HIGH", are those among which a port is chosen where the address leaves it open, for firewalls
///         that let only some through: the tcp port, and the udp port of the same number for heartbeats.
///         Large messages have connections of their own (streams/), at another tcp port, which is opened for the first
///         of them: any free one, or one of `stream_ports`, "LOW-HIGH". With `ports` or a port to `advertise` and
///         without `stream_ports`, or if `streams` is "off" ("auto" is the default), they share the connection of small
///         ones. With keys, peers that turn out to be on this host share memory, as over ipc.
///   ipc   "ipc://PATH" or "ipc://@NAME"        options: connect_patience, handshake_timeout
///         Large tensors do not travel: the receiver reads them in the sender's memory (shared_memory/).
class Transports {
 public:
  Transports();

  /// Adds a transport: nodes with this object reach each other at "SCHEME://..." through `kind`. Throws
  /// std::invalid_argument if the scheme exists already, or is not a-z, 0-9, - starting with a letter.
  void add(const std::string& scheme, LinkKind kind);

  /// Returns the schemes, sorted.
  [[nodiscard]] std::vector<std::string> schemes() const;

  /// Opens the link of the transport that `request.listen` names. Errors: bad_argument (unknown transport or option,
  /// keys for another transport than tcp), with the value; and those of the transport.
  [[nodiscard]] Result<std::unique_ptr<Link>> open(LinkRequest request) const;

 private:
  std::map<std::string, LinkKind> transports_;
};

/// Returns "tcp" for "tcp://127.0.0.1:*"; empty if there is no "://".
[[nodiscard]] std::string_view scheme_of(std::string_view address);

}  // namespace troupe

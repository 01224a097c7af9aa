// The kinds of links by which nodes reach each other, each under the scheme of its addresses.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "actors/link.h"
#include "actors/sessions/failure_detector.h"
#include "messages/error.h"
#include "node/links/secret.h"
#include "node/links/tcp_place.h"

namespace troupe {

/// What a node wants of its link.
struct LinkRequest {
  NodeName name;
  Incarnation incarnation;
  std::string cluster_id;
  ClusterSecret secret = ClusterSecret::random();
  Network network = Network::loopback;
  FailureDetectorOptions silence = {};         ///< for links between processes
  std::string listen;                          ///< "SCHEME://PLACE"; "SCHEME://" alone: where the transport likes
  std::map<std::string, std::string> options;  ///< of those that the transport has
  std::function<void(std::string_view line)> log;
};

/// A transport: how its links are opened.
struct LinkKind {
  std::function<Result<std::unique_ptr<Link>>(LinkRequest)> open;
  std::set<std::string> options = {};  ///< names of the options that `open` knows
};

/// An object that is given to a node; knows "tcp" and "ipc" from the start:
///
///   tcp   "tcp://127.0.0.1:*", any free port   options: advertise, connect_patience, handshake_timeout
///         HOST is an address in numbers (that of IPv6 in brackets), the name of an interface or of a host, or "*": then
///         `advertise`, "tcp://HOST:PORT" with "*" for the port that was bound, says what peers are told
///   ipc   "ipc://PATH" or "ipc://@NAME"        options: connect_patience, handshake_timeout
class Transports {
 public:
  Transports();

  /// Nodes that are given this object reach each other at "SCHEME://..." through what `kind` opens.
  /// Throws std::invalid_argument if the scheme has a transport already, or is not a-z, 0-9, - and begins with a letter.
  void add(const std::string& scheme, LinkKind kind);

  /// Sorted.
  [[nodiscard]] std::vector<std::string> schemes() const;

  /// Opens the link of the transport that `request.listen` names. Errors: bad_argument (no such transport; an option that
  /// it does not have), each with the value; and those of the transport.
  [[nodiscard]] Result<std::unique_ptr<Link>> open(LinkRequest request) const;

 private:
  std::map<std::string, LinkKind> transports_;
};

/// Returns "tcp" of "tcp://127.0.0.1:*"; nothing if there is no "://".
[[nodiscard]] std::string_view scheme_of(std::string_view address);

}  // namespace troupe

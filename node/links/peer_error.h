// The error of a link about one of its peers.
#pragma once

#include <string>
#include <utility>

#include "actors/link.h"
#include "messages/error.h"

namespace troupe::detail {

/// Returns the error that names the peer, its life and its address.
[[nodiscard]] inline Error peer_error(const Peer& peer, ErrorCode code, std::string message) {
  return Error{.code = code,
               .message = std::move(message),
               .peer = peer.name,
               .incarnation = peer.incarnation,
               .endpoint = peer.address};
}

}  // namespace troupe::detail

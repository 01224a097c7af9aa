// What the actors of a node are told of its peers.
#pragma once

#include "actors/core/caf.h"
#include "actors/core/node_life.h"
#include "actors/link.h"
#include "messages/error.h"

namespace troupe::detail {

/// A session with that life of the peer has begun.
struct PeerUp {
  Peer peer;
};
/// That life of the peer is over.
struct PeerDown {
  NodeLife life;
  Error why;
};

}  // namespace troupe::detail

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::PeerUp)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::PeerDown)

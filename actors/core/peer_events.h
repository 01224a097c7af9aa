// The events of peers that a node's actors receive.
#pragma once

#include "actors/core/caf.h"
#include "actors/link.h"
#include "messages/error.h"
#include "messages/ids.h"

namespace troupe::detail {

/// A session with that life of the peer has started.
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

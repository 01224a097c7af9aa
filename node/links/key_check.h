// A listener proves to its own node that it keeps strangers out.
#pragma once

#include <string>

#include "actors/clock.h"
#include "messages/error.h"
#include "node/keys/key_pair.h"
#include "node/links/zmq_link_socket.h"

namespace troupe {

/// Connects to this process's own listener at `address` with the keys of a `stranger`, which were just drawn. Errors:
/// not_authorized unless the ZAP handler refuses them within `patience`. Blocks until then.
[[nodiscard]] Result<Unit> check_strangers_are_refused(ZmqContext& context, const ZmqSocketLimits& limits,
                                                       const std::string& address, const PublicKey& server,
                                                       const KeyPair& stranger, Duration patience);

}  // namespace troupe

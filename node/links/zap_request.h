// ZAP 1.0, ZeroMQ's authentication protocol (RFC 27): a listening socket asks its context's handler whether a client
// with some key may get in, and as which user.
#pragma once

#include <optional>
#include <string>

#include "messages/frame.h"
#include "messages/ids.h"
#include "node/keys/key_pair.h"

namespace troupe {

/// One question, as the handler's router receives it: route, empty, "1.0", request id, domain, client's address,
/// routing id, mechanism, credentials.
struct ZapRequest {
  Frame route;
  Frame id;
  std::string address;           ///< the client's, numeric, without its port
  std::optional<PublicKey> key;  ///< nullopt: the client did not prove one
};

/// Returns nullopt if `message` is not a request of version 1.0: nobody can answer it.
[[nodiscard]] std::optional<ZapRequest> decode_zap(const Frames& message);

/// Returns the answer: status 200 and the user, or 400 if there is none.
[[nodiscard]] Frames encode_zap_answer(const ZapRequest& request, const std::optional<NodeName>& user);

}  // namespace troupe

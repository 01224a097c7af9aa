// A newcomer's side of introduction.h.
#pragma once

#include <optional>
#include <string>

#include "actors/clock.h"
#include "messages/error.h"
#include "messages/ids.h"
#include "node/keys/key_pair.h"

namespace troupe::detail {

struct IntroductionPlace {
  std::string endpoint;  ///< "tcp://HOST:PORT"; all addresses of a host name are tried
  NodeName member;       ///< whose it is
  PublicKey key;         ///< of that member
};

/// Introduces the owner of `own` at `place`, repeatedly, until it gets an answer or `due` has passed (nullopt: no
/// limit). Blocks until then. Errors: the member's refusal with its reason (not_authorized, bad_argument,
/// resource_exhausted); auth_failed (the listener there cannot open what is sealed for that member), peer_unreachable
/// (no answer by `due`), bad_argument (no such endpoint).
[[nodiscard]] Result<Unit> introduce(const IntroductionPlace& place, const KeyPair& own, const std::string& certificate,
                                     std::optional<TimePoint> due);

}  // namespace troupe::detail

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

/// Introduces the owner of `own` there, again until it is answered or `due`; nullopt: no limit. Blocks until then.
/// Errors: those of the member, which names the reason (not_authorized, bad_argument, resource_exhausted); auth_failed
/// (what is there hears nothing that is sealed for that member), peer_unreachable (nobody answered by `due`),
/// bad_argument (no such endpoint).
[[nodiscard]] Result<Unit> introduce(const IntroductionPlace& place, const KeyPair& own, const std::string& certificate,
                                     std::optional<TimePoint> due);

}  // namespace troupe::detail

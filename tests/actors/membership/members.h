// What members say of themselves.
#pragma once

#include <cstdint>
#include <optional>

#include "messages/membership.h"
#include "tests/actors/bare_peer.h"

namespace troupe::testing {

inline msg::Member place_of(const BarePeer& peer, std::uint32_t rank, std::uint64_t epoch) {
  return {peer.self().name, peer.self().incarnation, peer.self().address, "ps", rank, epoch};
}

inline msg::MemberJoin join_of(const BarePeer& peer, std::optional<std::uint32_t> rank = {},
                               std::uint32_t world_size = 0) {
  return {peer.self().name, peer.self().incarnation, peer.self().address, "ps", rank, world_size};
}

}  // namespace troupe::testing

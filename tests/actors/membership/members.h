// A node that joins, and what members say of themselves.
#pragma once

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/core/node_core.h"
#include "actors/membership/membership.h"
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

using Asked = std::shared_ptr<std::optional<Result<msg::AnyMessage>>>;

/// A node that founds or joins its cluster.
struct Newcomer : AmongBarePeers {
  Newcomer() : AmongBarePeers(std::nullopt) {}

  [[nodiscard]] detail::Membership& membership() { return core().membership(); }

  /// Returns why fewer than `count` members are present now; nothing if they are present.
  std::optional<Error> missing(std::size_t count,
                               detail::Membership::Until until = detail::Membership::Until::they_are_up) {
    return membership().wait_for_members(count, clock->now(), until);
  }

  /// Joins through the peer, with this answer.
  void join_through(BarePeer& seed, std::vector<msg::Member> members, detail::MemberPlace place = {{}, "trainer", 0}) {
    membership().join({{seed.self().address}}, std::move(place));
    seed.connect("m");
    const auto asked = seed.take_heard<msg::MemberJoin>();
    BOOST_REQUIRE(asked.size() == 1U);
    seed.answer("m", asked[0], msg::MemberList{members.back().epoch, members});
  }

  /// Returns "name:rank ...".
  static std::string names(const std::vector<msg::Member>& members) {
    std::string text;
    for (const msg::Member& member : members)
      text += (text.empty() ? "" : " ") + member.name + ":" + std::to_string(member.rank);
    return text;
  }

  /// Returns "name:rank ..." of the admitted members; else the error.
  static std::string outcome(const Asked& asked) {
    if (!*asked) return "waits";
    if (!(*asked)->ok()) return std::string(name_of((*asked)->error().code)) + " " + (*asked)->error().message;
    return names((*asked)->value().get<msg::MemberList>().members);
  }

  [[nodiscard]] msg::Member own_place(std::uint32_t rank, std::uint64_t epoch) {
    return {"m", core().incarnation(), "memory://m", "trainer", rank, epoch};
  }
};

}  // namespace troupe::testing

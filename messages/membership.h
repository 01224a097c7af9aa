// Who is in the cluster, and how all leave it together: the words between membership actors. The coordinator is the
// living member of the lowest rank; when it goes, members repeat what they told it to the next.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "messages/error.h"
#include "messages/ids.h"
#include "messages/word.h"

namespace troupe::msg {

/// A node as the others know it.
struct Member {
  NodeName name;
  Incarnation incarnation;
  std::string address;  ///< where it listens
  std::uint32_t rank = 0;
  friend bool operator==(const Member&, const Member&) = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(name, incarnation, address, rank);
  }
};

/// Let me in. Request, newcomer -> any member at a seed address, which passes it to the coordinator; answered by
/// MemberList, by Failure `name_in_use` if a living node has the name. Idempotent by (name, incarnation).
struct MemberJoin {
  static constexpr Word kWord{0x0501, "MemberJoin", Kind::request};
  NodeName name;
  Incarnation incarnation;
  std::string address;
  std::uint32_t world_size = 0;  ///< answer when so many are in; 0 = at once
  template <class Archive>
  void serialize(Archive& ar) {
    ar(name, incarnation, address, world_size);
  }
};

/// All members, the newcomer among them. Reply to MemberJoin, coordinator -> newcomer.
struct MemberList {
  static constexpr Word kWord{0x0502, "MemberList", Kind::reply};
  std::uint64_t epoch = 0;  ///< one more with every change; a list of a lower epoch is out of date
  std::vector<Member> members;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(epoch, members);
  }
};

/// One more is in. Notification, coordinator -> every other member. Idempotent by incarnation.
struct MemberJoined {
  static constexpr Word kWord{0x0503, "MemberJoined", Kind::notification};
  std::uint64_t epoch = 0;
  Member member;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(epoch, member);
  }
};

/// One is gone: it said so, or the coordinator observed it. Notification, leaver or coordinator -> every member.
/// Idempotent by incarnation; one of an earlier incarnation does not touch the present one.
struct MemberLeft {
  static constexpr Word kWord{0x0504, "MemberLeft", Kind::notification};
  std::uint64_t epoch = 0;
  NodeName name;
  Incarnation incarnation;
  Error reason;  ///< shutting_down for a leaver, peer_down for a death
  template <class Archive>
  void serialize(Archive& ar) {
    ar(epoch, name, incarnation, reason);
  }
};

/// User code on `node` is done and waits in shutdown. Notification, member -> coordinator. Idempotent.
struct ShutdownReady {
  static constexpr Word kWord{0x0505, "ShutdownReady", Kind::notification};
  NodeName node;
  Incarnation incarnation;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(node, incarnation);
  }
};

/// Every living member is ready: count your calls. Request, coordinator -> each member; answered by ShutdownCounted.
/// Idempotent: counting changes nothing.
struct ShutdownCount {
  static constexpr Word kWord{0x0506, "ShutdownCount", Kind::request};
  std::uint64_t round = 0;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(round);
  }
};

/// Reply to ShutdownCount, member -> coordinator. A served function may call on, so one look is not enough: all may
/// leave when two rounds in a row found nothing active anywhere and the same sum of `started`.
struct ShutdownCounted {
  static constexpr Word kWord{0x0507, "ShutdownCounted", Kind::reply};
  std::uint64_t round = 0;
  std::uint64_t active = 0;   ///< own requests without an answer, served functions and callbacks not done
  std::uint64_t started = 0;  ///< requests this incarnation ever sent
  template <class Archive>
  void serialize(Archive& ar) {
    ar(round, active, started);
  }
};

/// Nothing is active anywhere: leave. Notification, coordinator -> each member. Idempotent.
struct ShutdownAgreed {
  static constexpr Word kWord{0x0508, "ShutdownAgreed", Kind::notification};
  std::uint64_t round = 0;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(round);
  }
};

/// `node` is at the barrier. Request, member -> coordinator; answered by BarrierPassed when every living member has
/// entered. Idempotent by (barrier, generation, node).
struct BarrierEntered {
  static constexpr Word kWord{0x0509, "BarrierEntered", Kind::request};
  std::string barrier;           ///< its name
  std::uint64_t generation = 0;  ///< how often this member passed it before
  NodeName node;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(barrier, generation, node);
  }
};

/// All are there. Reply to BarrierEntered, coordinator -> member.
struct BarrierPassed {
  static constexpr Word kWord{0x050a, "BarrierPassed", Kind::reply};
  std::string barrier;
  std::uint64_t generation = 0;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(barrier, generation);
  }
};

}  // namespace troupe::msg

// Who is in the cluster, where groups of its members meet, and how all leave it together: the words between membership
// actors. Newcomers are let in by the member that has been in longest; when it goes, the next one does it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "messages/error.h"
#include "messages/ids.h"
#include "messages/payload.h"
#include "messages/message_info.h"

namespace troupe::msg {

/// A node as the others know it.
struct Member {
  NodeName name;
  Incarnation incarnation;
  std::string address;      ///< where it listens
  std::string role;         ///< "trainer" of "trainer1"
  std::uint32_t rank = 0;   ///< its place in the world
  std::uint64_t epoch = 0;  ///< in which it was let in; 0 in a world whose members were there from the start
  friend bool operator==(const Member&, const Member&) = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(name, incarnation, address, role, rank, epoch);
  }
};

/// Let me in. Request, newcomer -> any member at a seed address, which passes it to the one that has been in longest;
/// answered by MemberList once the world is complete, by Failure if the name, the rank or the world is taken.
/// Idempotent by (name, incarnation).
struct MemberJoin {
  static constexpr MessageInfo kInfo{0x0501, "MemberJoin", Kind::request};
  NodeName name;
  Incarnation incarnation;
  std::string address;
  std::string role;
  std::optional<std::uint32_t> rank;  ///< the one it wants; nothing: by arrival
  std::uint32_t world_size = 0;       ///< answer when so many are in; 0 = at once
  template <class Archive>
  void serialize(Archive& ar) {
    ar(name, incarnation, address, role, rank, world_size);
  }
};

/// All members, the newcomer among them. Reply to MemberJoin, coordinator -> newcomer.
struct MemberList {
  static constexpr MessageInfo kInfo{0x0502, "MemberList", Kind::reply};
  std::uint64_t epoch = 0;  ///< one more with every change; a list of a lower epoch is out of date
  std::vector<Member> members;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(epoch, members);
  }
};

/// One more is in. Notification, coordinator -> every other member, and each member -> each peer that comes up: a peer
/// that was let in elsewhere is known by its own word. Idempotent by incarnation.
struct MemberJoined {
  static constexpr MessageInfo kInfo{0x0503, "MemberJoined", Kind::notification};
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
  static constexpr MessageInfo kInfo{0x0504, "MemberLeft", Kind::notification};
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
  static constexpr MessageInfo kInfo{0x0505, "ShutdownReady", Kind::notification};
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
  static constexpr MessageInfo kInfo{0x0506, "ShutdownCount", Kind::request};
  std::uint64_t round = 0;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(round);
  }
};

/// Reply to ShutdownCount, member -> coordinator. A served function may call on, so one look is not enough: all may
/// leave when two rounds in a row found nothing active anywhere and the same sum of `started`.
struct ShutdownCounted {
  static constexpr MessageInfo kInfo{0x0507, "ShutdownCounted", Kind::reply};
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
  static constexpr MessageInfo kInfo{0x0508, "ShutdownAgreed", Kind::notification};
  std::uint64_t round = 0;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(round);
  }
};

/// What one member brings to a barrier of a group.
struct Contribution {
  Fingerprint type;  ///< of the value
  Payload value;     ///< without references and boundary: everybody may get it
  template <class Archive>
  void serialize(Archive& ar) {
    ar(type, value);
  }
};

/// The sender is where the members of a group meet. Request, member -> the barrier's leader; answered by BarrierPassed when
/// all others are there too, by Failure `timeout` after `limit`. Not idempotent: the n-th of one member meets the n-th of
/// the others.
struct BarrierEntered {
  static constexpr MessageInfo kInfo{0x0509, "BarrierEntered", Kind::request};
  BarrierEntryId entry;                ///< names it for BarrierLeft
  std::string operation;               ///< "barrier", "all_gather", "gather": what they meet for
  std::vector<NodeName> members;       ///< who meets, sorted
  NodeName receiver;                   ///< who gets what they bring; empty: everybody
  bool without_dead = false;           ///< those who are gone are not waited for
  std::chrono::microseconds limit{0};  ///< how long the sender waits; 0 = as long as it lives
  Contribution own;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(entry, operation, members, receiver, without_dead, limit, own);
  }
};

/// All are there. Reply to BarrierEntered, leader -> member.
struct BarrierPassed {
  static constexpr MessageInfo kInfo{0x050a, "BarrierPassed", Kind::reply};
  std::vector<std::pair<NodeName, Contribution>> values;  ///< by name; none for who is not the receiver
  std::vector<std::pair<NodeName, Error>> missing;        ///< who was not waited for, and why
  template <class Archive>
  void serialize(Archive& ar) {
    ar(values, missing);
  }
};

/// The sender gave `entry` up: it meets nobody. Notification, member -> the barrier's leader. Idempotent; before its entry
/// it makes that leave when it comes, after the barrier it does nothing.
struct BarrierLeft {
  static constexpr MessageInfo kInfo{0x050b, "BarrierLeft", Kind::notification};
  BarrierEntryId entry;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(entry);
  }
};

}  // namespace troupe::msg

// The messages between membership actors: the members of the cluster, barriers of groups, and the common shutdown. The
// longest-standing member (the coordinator) admits newcomers; when it goes, the next one does.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "messages/error.h"
#include "messages/ids.h"
#include "messages/message_info.h"
#include "messages/payload.h"

namespace troupe::msg {

/// A node, as the other members know it.
struct Member {
  NodeName name;
  Incarnation incarnation;
  std::string address;      ///< where the node listens
  std::string role;         ///< "trainer" of "trainer1"
  std::uint32_t rank = 0;   ///< its place in the world
  std::uint64_t epoch = 0;  ///< of its admission; 0 in a world that had all its members from the start
  friend bool operator==(const Member&, const Member&) = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(name, incarnation, address, role, rank, epoch);
  }
};

/// The sender asks to be admitted. Request, newcomer -> any member at a seed address, which forwards it to the
/// coordinator; answered by MemberList once the world is complete, by Failure if the name, the rank or the world is
/// taken. Idempotent by (name, incarnation).
struct MemberJoin {
  static constexpr MessageInfo kInfo{0x0501, "MemberJoin", Kind::request, Sender::member};
  NodeName name;
  Incarnation incarnation;
  std::string address;
  std::string role;
  std::optional<std::uint32_t> rank;  ///< the requested rank; nullopt: by arrival
  std::uint32_t world_size = 0;       ///< answer when this many are members; 0: at once
  template <class Archive>
  void serialize(Archive& ar) {
    ar(name, incarnation, address, role, rank, world_size);
  }
};

/// All members, including the newcomer. Reply to MemberJoin, coordinator -> newcomer.
struct MemberList {
  static constexpr MessageInfo kInfo{0x0502, "MemberList", Kind::reply, Sender::answerer};
  std::uint64_t epoch = 0;  ///< increases with every change; a list of a lower epoch is out of date
  std::vector<Member> members;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(epoch, members);
  }
};

/// A member was admitted. Notification, coordinator -> every other member, and each member -> each peer that comes up:
/// a peer that was admitted elsewhere introduces itself. Idempotent by incarnation.
struct MemberJoined {
  static constexpr MessageInfo kInfo{0x0503, "MemberJoined", Kind::notification, Sender::coordinator};
  std::uint64_t epoch = 0;
  Member member;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(epoch, member);
  }
};

/// A member is gone: it said so, or the coordinator detected it. Notification, leaver or coordinator -> every member.
/// Idempotent by incarnation; one of an earlier incarnation does not affect the present one.
struct MemberLeft {
  static constexpr MessageInfo kInfo{0x0504, "MemberLeft", Kind::notification, Sender::coordinator};
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
  static constexpr MessageInfo kInfo{0x0505, "ShutdownReady", Kind::notification, Sender::itself};
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
  static constexpr MessageInfo kInfo{0x0506, "ShutdownCount", Kind::request, Sender::coordinator};
  std::uint64_t round = 0;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(round);
  }
};

/// Reply to ShutdownCount, member -> coordinator. A served function may make further calls, so one round is not enough:
/// all may leave when two rounds in a row find nothing active on any node and the same `started` of each.
struct ShutdownCounted {
  static constexpr MessageInfo kInfo{0x0507, "ShutdownCounted", Kind::reply, Sender::answerer};
  std::uint64_t round = 0;
  std::uint64_t active = 0;   ///< pending requests, and served functions and callbacks that are not done
  std::uint64_t started = 0;  ///< requests that this incarnation ever sent
  template <class Archive>
  void serialize(Archive& ar) {
    ar(round, active, started);
  }
};

/// Nothing is active on any node: leave. Notification, coordinator -> each member. Idempotent.
struct ShutdownAgreed {
  static constexpr MessageInfo kInfo{0x0508, "ShutdownAgreed", Kind::notification, Sender::coordinator};
  std::uint64_t round = 0;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(round);
  }
};

/// The value of one member at a barrier of a group. At a partial one without a receiver the last frame of `value` is
/// an EntryNote (actors/membership/entry_note.h), not a part of the value.
struct Contribution {
  Fingerprint type;  ///< of the value
  Payload value;     ///< without references and boundary: every member may receive it
  template <class Archive>
  void serialize(Archive& ar) {
    ar(type, value);
  }
};

/// The sender enters a barrier. Request, member -> the barrier's leader; answered by BarrierPassed when all other
/// members have entered too, by Failure `timeout` after `limit`. Not idempotent: the n-th entry of one member meets the
/// n-th of the others. As a notification: this entry has met at a leader that is gone (MB-18).
struct BarrierEntered {
  static constexpr MessageInfo kInfo{0x0509, "BarrierEntered", Kind::request, Sender::maker};
  BarrierEntryId entry;                ///< identifies the entry for BarrierLeft
  std::string operation;               ///< the operation that meets: "barrier", "all_gather", "gather"
  std::vector<NodeName> members;       ///< the members that meet, sorted
  NodeName receiver;                   ///< the member that gets the contributions; empty: all
  bool without_dead = false;           ///< true: dead members are not waited for
  std::chrono::microseconds limit{0};  ///< how long the sender waits; 0: as long as it lives
  Contribution own;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(entry, operation, members, receiver, without_dead, limit, own);
  }
};

/// All members have entered. Reply to BarrierEntered, leader -> member.
struct BarrierPassed {
  static constexpr MessageInfo kInfo{0x050a, "BarrierPassed", Kind::reply, Sender::answerer};
  std::vector<std::pair<NodeName, Contribution>> values;  ///< by name; empty unless this member receives them
  std::vector<std::pair<NodeName, Error>> missing;        ///< members that were left out, and why
  template <class Archive>
  void serialize(Archive& ar) {
    ar(values, missing);
  }
};

/// The sender cancels `entry`. Notification, member -> the barrier's leader. Idempotent: before the entry arrives, it
/// cancels the entry on arrival; after the barrier it does nothing.
struct BarrierLeft {
  static constexpr MessageInfo kInfo{0x050b, "BarrierLeft", Kind::notification, Sender::maker};
  BarrierEntryId entry;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(entry);
  }
};

/// The sender knows the signed list of members with this serial. Notification, member -> each peer that comes up, and
/// all peers when it takes another list. Idempotent.
struct SignedListKnown {
  static constexpr MessageInfo kInfo{0x050c, "SignedListKnown", Kind::notification, Sender::member};
  std::uint64_t serial = 0;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(serial);
  }
};

/// Asks for that list. Request, member with an older one -> member; answered by SignedList, by Failure from a node
/// without one. Idempotent.
struct SignedListFetch {
  static constexpr MessageInfo kInfo{0x050d, "SignedListFetch", Kind::request, Sender::member};
  std::uint64_t serial = 0;  ///< of the list that the sender has
  template <class Archive>
  void serialize(Archive& ar) {
    ar(serial);
  }
};

/// The list of the nodes that may be members, signed by the owner of the cluster. The receiver trusts the signature,
/// not the sender. Reply to SignedListFetch.
struct SignedList {
  static constexpr MessageInfo kInfo{0x050e, "SignedList", Kind::reply, Sender::answerer};
  std::vector<std::byte> bytes;  ///< of the file cluster.members, exactly
  template <class Archive>
  void serialize(Archive& ar) {
    ar(bytes);
  }
};

/// A certificate: the owner of the cluster has signed that a newcomer is a member, whom the sender's list does not have
/// yet. The receiver trusts the signature, not the sender. Notification, member to which a newcomer has shown it -> all
/// peers, and each peer that comes up before a list has it. Idempotent.
struct SignedCertificate {
  static constexpr MessageInfo kInfo{0x050f, "SignedCertificate", Kind::notification, Sender::member};
  std::vector<std::byte> bytes;  ///< of the file NAME.certificate, exactly
  template <class Archive>
  void serialize(Archive& ar) {
    ar(bytes);
  }
};

/// The last line of the sender's audit log. The receiver writes it into its own log, where the sender cannot change it.
/// Notification, member -> a few of its peers. Idempotent: a line that is not later than an earlier received one is
/// ignored.
struct AuditHead {
  static constexpr MessageInfo kInfo{0x0510, "AuditHead", Kind::notification, Sender::member};
  std::uint64_t line = 0;            ///< its number in the sender's log, from 1
  std::array<std::byte, 32> hash{};  ///< of that line, as the next one has it
  friend bool operator==(const AuditHead&, const AuditHead&) = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(line, hash);
  }
};

}  // namespace troupe::msg

// The messages between the holders of handles and the owner of a value. RR-1: the owner drops the value when its last
// fork is deleted. RR-2: forks and deletes may arrive in any order and twice; the owner keeps tombstones by ForkId.
// RR-3: a parent handle stays until the owner knows the child.
#pragma once

#include <cstdint>
#include <vector>

#include "messages/call_options.h"
#include "messages/error.h"
#include "messages/ids.h"
#include "messages/message_info.h"
#include "messages/rpc.h"

namespace troupe::msg {

/// Send what is wanted of these values, each named once, one after the other, when they exist. Request, holder -> their
/// owner; answered by one Reply, or by Failure if one value fails. Idempotent except for `element`: reading changes
/// nothing; a repeated request is answered again.
struct RRefFetch {
  static constexpr MessageInfo kInfo{0x0201, "RRefFetch", Kind::request, Sender::knower};
  std::vector<RRefId> rrefs;
  Wanted wanted = Wanted::value;
  CallSite site;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(rrefs, wanted, site);
  }
};

/// The owner actor of `rref` exists and knows the creator's fork. Reply to RemoteCall and ValueCall, owner -> creator.
/// A second one is dropped.
struct RRefCreated {
  static constexpr MessageInfo kInfo{0x0202, "RRefCreated", Kind::reply, Sender::answerer};
  RRefId rref;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(rref);
  }
};

/// One more handle of `rref` exists. Notification, the receiver of the handle -> its owner; `parent` passed it on and
/// waits for RRefForkAck. Idempotent: duplicates and reorders are harmless (RR-2).
struct RRefForked {
  static constexpr MessageInfo kInfo{0x0203, "RRefForked", Kind::notification, Sender::knower};
  RRefId rref;
  ForkId fork;
  NodeName parent;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(rref, fork, parent);
  }
};

/// The handle `fork` was destroyed. Notification, its node -> owner. Idempotent; may overtake RRefForked (RR-2).
struct RRefDeleted {
  static constexpr MessageInfo kInfo{0x0204, "RRefDeleted", Kind::notification, Sender::holder};
  RRefId rref;
  ForkId fork;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(rref, fork);
  }
};

/// A handle of `rref`.
struct RRefFork {
  RRefId rref;
  ForkId fork;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(rref, fork);
  }
};

/// No node acknowledges more forks at once.
inline constexpr std::size_t kForkAcksMax = 1024;

/// The owner knows the forks: the parent need not keep its own handles for them any longer (RR-3). Notification, owner
/// -> parent. Idempotent: for a fork that is not awaited it does nothing.
struct RRefForkAck {
  static constexpr MessageInfo kInfo{0x0205, "RRefForkAck", Kind::notification, Sender::owner};
  std::vector<RRefFork> forks;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(forks);
  }
};

/// The handle `fork` is invalid: its value was released before the owner knew the fork, or could not be created.
/// Notification, owner -> holder: every later use fails with `error`; creator -> owner: the value will never exist.
/// Idempotent.
struct RRefRevoked {
  static constexpr MessageInfo kInfo{0x0206, "RRefRevoked", Kind::notification, Sender::owner};
  RRefId rref;
  ForkId fork;
  Error error;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(rref, fork, error);
  }
};

/// Copies of the value older than `version` are out of date. Notification, owner -> each node that fetched one with
/// Wanted::cached since the last change. Idempotent; may overtake the copy.
struct RRefChanged {
  static constexpr MessageInfo kInfo{0x0207, "RRefChanged", Kind::notification, Sender::owner};
  RRefId rref;
  std::uint64_t version = 0;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(rref, version);
  }
};

}  // namespace troupe::msg

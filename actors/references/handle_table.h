// The user's side of RRefs on one node: which handles of other nodes' values it holds, on which forks they rest, and
// which forks it handed on that the owner does not know yet. Rules RR-3, RR-6 to RR-9 and RR-13 of PROTOCOLS.md. Plain
// state: no CAF, no clock; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "actors/core/node_life.h"
#include "messages/error.h"
#include "messages/ids.h"

namespace troupe {

/// One notification to send after an event. It concerns that life of `to` and is dropped if the node is in another one.
struct RRefNotice {
  enum class Kind : std::uint8_t {
    forked,        ///< RRefForked, to the owner; its `parent` is `parent`
    deleted,       ///< RRefDeleted, to the owner
    acknowledged,  ///< RRefForkAck, to the parent: it need not wait for the owner's
    undone,        ///< RRefRevoked, to the owner: the call that was to create the value never left
  };
  Kind kind = Kind::forked;
  NodeLife to;
  RRefId rref;
  ForkId fork;
  NodeName parent;  ///< forked only
  Error why{};      ///< undone only
  friend bool operator==(const RRefNotice&, const RRefNotice&) = default;
};

using RRefNotices = std::vector<RRefNotice>;

/// A handle as a message carries it.
struct ReceivedFork {
  RRefId rref;
  ForkId fork;
  NodeLife owner;
  friend auto operator<=>(const ReceivedFork&, const ReceivedFork&) = default;
};

enum class HandleState : std::uint8_t {
  pending,    ///< usable; the owner has not confirmed it yet
  confirmed,  ///< the owner counts it
  failed,     ///< every use fails with `failure()`
};

/// Whether this node's session with that life of an owner has begun, now or ever.
enum class OwnerMet : std::uint8_t { yes, not_yet };

/// Handles of one node, by RRefId. Owners are other nodes: a node's own values live in ForkTables.
/// Each `create` and each `received` is matched by one `dropped`: the local copies share handles as they like.
/// Which lives are over is not remembered here: who lets a handle rest on one, by `create`, `received` or `hand_out`, and
/// sees then that it is over, calls `node_down` again.
class HandleTable {
 public:
  explicit HandleTable(NodeLife self) : self_(std::move(self)) {}

  /// A new fork id of this node; ForkTable::hand_out takes them from here too.
  [[nodiscard]] ForkId next_fork();

  /// A value is about to be created on `owner`: returns the fork that the creating call carries. Pending until
  /// `acknowledged` (RRefCreated) or `failed`.
  [[nodiscard]] ForkId create(const RRefId& rref, const NodeLife& owner);

  /// The creating call of `rref` failed or timed out, and no answer to it will be listened to. Uses fail with `error`; its
  /// fork is still deleted with the handle, for the owner may know it, now or later.
  [[nodiscard]] RRefNotices creation_failed(const RRefId& rref, const Error& error);

  /// The creating call of `rref` never left, or was refused. As `creation_failed`, and the owner is told that no value will
  /// come: it may have heard of it from this node or its children.
  [[nodiscard]] RRefNotices creation_undone(const RRefId& rref, const Error& error);

  /// A message from `parent` brought a handle. At most once per fork: messages that carry handles are not delivered
  /// twice. An owner that is not met yet hears of the fork by `node_up`.
  [[nodiscard]] RRefNotices received(const ReceivedFork& handle, const NodeLife& parent, OwnerMet met = OwnerMet::yes);

  /// Makes the fork that a message to `to` will carry; this node's handle stays until it is acknowledged (RR-3).
  /// Refused if the handle has failed or is not here, and while its owner is not met: who gets it could not be acknowledged.
  [[nodiscard]] Result<ForkId> hand_out(const RRefId& rref, const NodeLife& to);

  /// RRefForkAck: `fork` was handed on and is now known, or is this node's own and confirmed.
  [[nodiscard]] RRefNotices acknowledged(const RRefId& rref, const ForkId& fork);

  /// The message that carried `fork` never left, or was refused unread.
  [[nodiscard]] RRefNotices undo(const RRefId& rref, const ForkId& fork);

  /// RRefRevoked: the owner does not count this node's `fork`.
  [[nodiscard]] RRefNotices revoked(const RRefId& rref, const ForkId& fork, const Error& error);

  /// The last copy that shared one `create` or `received` is gone. The fork is deleted when the owner has confirmed it and
  /// knows all its children (RR-6).
  [[nodiscard]] RRefNotices dropped(const RRefId& rref);

  /// A session with that life begins: it hears of the forks of its values that came before (RR-13).
  [[nodiscard]] RRefNotices node_up(const NodeLife& life);

  /// That life of a node is over: handles of its values fail with owner_died, forks handed to it no longer wait (RR-8).
  [[nodiscard]] RRefNotices node_down(const NodeLife& life, const Error& why);

  /// Requires that the handle is here.
  [[nodiscard]] HandleState state(const RRefId& rref) const;
  /// Why the handle is failed; empty if it is not failed or not here.
  [[nodiscard]] std::optional<Error> failure(const RRefId& rref) const;

  /// Whether it may say what became of a handle of `rref`: the owner alone counts them (RR-12). False if none is here.
  [[nodiscard]] bool is_owner(const RRefId& rref, const NodeLife& life) const;
  /// Whether it may say that `fork` is known: the owner, and whom it was handed to, who may have given it back (RR-7, RR-12).
  [[nodiscard]] bool may_acknowledge(const RRefId& rref, const ForkId& fork, const NodeLife& life) const;

  [[nodiscard]] bool contains(const RRefId& rref) const { return entries_.contains(rref); }
  [[nodiscard]] bool is_held(const RRefId& rref) const;
  /// Values of which this node holds a handle or waits for an acknowledgement: 0 when nothing is left (RR-9).
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  /// Values whose owner has not confirmed any fork of this node yet.
  [[nodiscard]] std::size_t unconfirmed_count() const;
  /// Forks handed on and not yet acknowledged, for shutdown reports.
  [[nodiscard]] std::size_t unacknowledged_count() const;
  /// The forks on which the handle rests.
  [[nodiscard]] std::vector<ForkId> forks_of(const RRefId& rref) const;
  /// The whole state in one line, equal for equal tables: "trainer.1 of ps0: 1 held, confirmed ps0.3, handed trainer.5 to
  /// ps1".
  [[nodiscard]] std::string text() const;

 private:
  struct Entry {
    NodeLife owner;
    OwnerMet met = OwnerMet::yes;          // not_yet: all forks are pending, and unreported
    std::size_t holds = 0;
    std::optional<ForkId> confirmed;       // at most one: further ones are given back at once (RR-7)
    std::map<ForkId, NodeLife> pending;    // to the parent that waits for it; self_ for the creating call's
    std::optional<ForkId> doubtful;        // of a creating call that failed: the owner may know it, and will not say so
    std::map<ForkId, NodeLife> children;   // to the node that it was handed to
    std::optional<Error> failure;
  };
  using Entries = std::map<RRefId, Entry>;

  void settle(Entries::iterator at, RRefNotices& notices);
  static void meet(Entries::iterator at, RRefNotices& notices);
  void give_back_pending(Entries::iterator at, RRefNotices& notices) const;
  std::optional<ForkId> end_creation(Entry& entry, const Error& error);
  static void fail(Entry& entry, const Error& error);

  NodeLife self_;
  std::uint64_t serial_ = 0;
  Entries entries_;
};

}  // namespace troupe

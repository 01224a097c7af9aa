// The user's side of RRefs on one node: which handles of other nodes' values it holds, by which forks, and which forks
// it passed on that the owner has not acknowledged. Rules RR-3, RR-6 to RR-9 and RR-13 of PROTOCOLS.md. Plain state: no
// CAF, no clock; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "messages/error.h"
#include "messages/ids.h"

namespace troupe {

/// One notification to send after an event. It is for that life of `to`, and is dropped if the node is in another life.
struct RRefNotice {
  enum class Kind : std::uint8_t {
    forked,        ///< RRefForked, to the owner; its `parent` is `parent`
    deleted,       ///< RRefDeleted, to the owner
    acknowledged,  ///< RRefForkAck, to the parent: it need not wait for the owner's
    undone,        ///< RRefRevoked, to the owner: the call that was to create the value was never sent
  };
  Kind kind = Kind::forked;
  NodeLife to;
  RRefId rref;
  ForkId fork;
  NodeName parent;  ///< of `forked` only
  Error why{};      ///< of `undone` only
  friend bool operator==(const RRefNotice&, const RRefNotice&) = default;
};

using RRefNotices = std::vector<RRefNotice>;

/// A handle, as a message carries it.
struct ReceivedFork {
  RRefId rref;
  ForkId fork;
  NodeLife owner;
  friend auto operator<=>(const ReceivedFork&, const ReceivedFork&) = default;
};

enum class HandleState : std::uint8_t {
  pending,    ///< usable; the owner has not acknowledged it yet
  confirmed,  ///< the owner counts it
  failed,     ///< every use fails with `failure()`
};

/// Whether this node has ever had a session with that life of an owner.
enum class OwnerMet : std::uint8_t { yes, not_yet };

/// The handles of one node, by RRefId. Owners are other nodes: a node's own values are in ForkTables. Each `create` and
/// each `received` is matched by one `dropped`; local copies share them. The table does not remember which lives are
/// over: a caller of `create`, `received` or `hand_out` that then finds the life over calls `handle_down`.
class HandleTable {
 public:
  explicit HandleTable(NodeLife self) : self_(std::move(self)) {}

  /// Returns a new fork id of this node; ForkTable::hand_out uses them too.
  [[nodiscard]] ForkId next_fork();

  /// Records a value about to be created on `owner`. Returns the fork that the creating call carries, pending until
  /// `acknowledged` (RRefCreated) or `failed`.
  [[nodiscard]] ForkId create(const RRefId& rref, const NodeLife& owner);

  /// The creating call of `rref` failed or timed out, and its answer will be ignored. Uses fail with `error`. The fork
  /// is still deleted with the handle: the owner may know it, now or later.
  [[nodiscard]] RRefNotices creation_failed(const RRefId& rref, const Error& error);

  /// The creating call of `rref` was never sent, or was refused. As `creation_failed`, and notifies the owner, which
  /// may know the value from this node or its children, that the value will not exist.
  [[nodiscard]] RRefNotices creation_undone(const RRefId& rref, const Error& error);

  /// A message of `parent` brought a handle. Called at most once per fork: such messages are not delivered twice. An
  /// owner not met yet is notified of the fork by `node_up`.
  [[nodiscard]] RRefNotices received(const ReceivedFork& handle, const NodeLife& parent, OwnerMet met = OwnerMet::yes);

  /// Returns the fork that a message to `to` will carry; this node's handle stays until it is acknowledged (RR-3).
  /// Refused if the handle has failed or is unknown, and while its owner is not met: the receiver's fork could not be
  /// acknowledged.
  [[nodiscard]] Result<ForkId> hand_out(const RRefId& rref, const NodeLife& to);

  /// RRefForkAck arrived: the owner knows `fork`, which was passed on or is this node's own.
  [[nodiscard]] RRefNotices acknowledged(const RRefId& rref, const ForkId& fork);

  /// The message that carried `fork` was never sent, or was refused unread.
  [[nodiscard]] RRefNotices undo(const RRefId& rref, const ForkId& fork);

  /// RRefRevoked arrived: the owner does not count this node's `fork`.
  [[nodiscard]] RRefNotices revoked(const RRefId& rref, const ForkId& fork, const Error& error);

  /// The last copy of one `create` or `received` was destroyed. The fork is deleted when the owner has acknowledged it
  /// and all its children (RR-6).
  [[nodiscard]] RRefNotices dropped(const RRefId& rref);

  /// A session with that life starts: notifies it of forks of its values that came before (RR-13).
  [[nodiscard]] RRefNotices node_up(const NodeLife& life);

  /// That life of a node is over: handles of its values fail with owner_died; forks passed to it no longer wait (RR-8).
  [[nodiscard]] RRefNotices node_down(const NodeLife& life, const Error& why);
  /// As `node_down`, for the handle of `rref` only.
  [[nodiscard]] RRefNotices handle_down(const RRefId& rref, const NodeLife& life, const Error& why);

  /// REQUIRES: the handle is in the table.
  [[nodiscard]] HandleState state(const RRefId& rref) const;
  /// Returns why the handle failed; nullopt if it has not, or is unknown.
  [[nodiscard]] std::optional<Error> failure(const RRefId& rref) const;

  /// Returns whether `life` owns `rref` and so may report on its handles: only the owner counts them (RR-12). False if
  /// unknown.
  [[nodiscard]] bool is_owner(const RRefId& rref, const NodeLife& life) const;
  /// Returns whether `life` may acknowledge `fork`: it is the owner, or received the fork and may have given it back
  /// (RR-7, RR-12).
  [[nodiscard]] bool may_acknowledge(const RRefId& rref, const ForkId& fork, const NodeLife& life) const;

  /// Returns the owner that the first handle of the value named; null if there is no handle.
  [[nodiscard]] const NodeLife* owner(const RRefId& rref) const;
  [[nodiscard]] bool contains(const RRefId& rref) const { return entries_.contains(rref); }
  [[nodiscard]] bool is_held(const RRefId& rref) const;
  /// Returns the number of values with a handle of this node or a missing acknowledgement; 0: nothing is left (RR-9).
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  /// Returns whether a handle here is of a value of that life, or was passed to it: `node_up` and `node_down` look at
  /// the handles of no other.
  [[nodiscard]] bool concerns(const NodeLife& life) const { return concerned_.contains(life); }
  /// Returns the number of values whose owner has not acknowledged any fork of this node.
  [[nodiscard]] std::size_t unconfirmed_count() const;
  /// Returns the number of forks passed on and not acknowledged, for shutdown reports.
  [[nodiscard]] std::size_t unacknowledged_count() const;
  /// Returns the forks of the handle.
  [[nodiscard]] std::vector<ForkId> forks_of(const RRefId& rref) const;
  /// Returns the whole state in one line, equal for equal tables: "trainer.1 of ps0: 1 held, confirmed ps0.3, handed
  /// trainer.5 to ps1".
  [[nodiscard]] std::string text() const;

 private:
  struct Entry {
    NodeLife owner;
    OwnerMet met = OwnerMet::yes;  // not_yet: all forks are pending and unreported
    std::size_t holds = 0;
    std::optional<ForkId> confirmed;      // at most one: further ones are given back at once (RR-7)
    std::map<ForkId, NodeLife> pending;   // value: the parent that waits for it; self_ for the creating call's fork
    std::optional<ForkId> doubtful;       // of a failed creating call: the owner may know it, but does not say so
    std::map<ForkId, NodeLife> children;  // value: the node that received it
    std::optional<Error> failure;
  };
  using Entries = std::map<RRefId, Entry>;

  void add_child(Entry& entry, const ForkId& fork, const NodeLife& to);
  bool drop_child(Entry& entry, const ForkId& fork);
  void no_longer_concerns(const NodeLife& life, std::size_t times = 1);
  void settle(Entries::iterator at, RRefNotices& notices);
  void end_life(Entries::iterator at, const NodeLife& life, const Error& why, RRefNotices& notices);
  void meet(Entries::iterator at, RRefNotices& notices);
  void give_back_pending(Entries::iterator at, RRefNotices& notices) const;
  std::optional<ForkId> end_creation(Entry& entry, const Error& error);
  void fail(Entry& entry, const Error& error);

  NodeLife self_;
  std::uint64_t serial_ = 0;
  Entries entries_;
  std::map<NodeLife, std::size_t>
      concerned_;          // the entries of which a life is the owner, and children that it received
  std::size_t unmet_ = 0;  // entries whose owner is not met yet
};

}  // namespace troupe

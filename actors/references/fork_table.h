// The owner's side of one RRef: which nodes hold a handle of the value, and whether the value's life has ended. Rules
// RR-1 to RR-5 and RR-16 of PROTOCOLS.md. Plain state: no CAF, no clock; one thread at a time.
//
//   unknown --hand_out, forked--> live --deleted, undo, came_home, drop_node--> dead
//   unknown --deleted--> awaited --forked, drop_node--> dead             (the delete overtook its fork)
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "actors/core/actor_directory.h"
#include "messages/ids.h"

namespace troupe {

/// The owner's answer to a reported fork. In all cases but `refused` the parent gets its RRefForkAck: nothing is gained
/// by keeping the parent's handle longer. For `refused` the parent got it when the other node reported the fork.
enum class ForkOutcome : std::uint8_t {
  known,    ///< counted; the holder gets RRefForkAck too: its handle is confirmed
  revoked,  ///< the fork was deleted before, or the value is gone; the holder gets RRefRevoked
  refused,  ///< another node holds this fork; the reporter gets RRefRevoked
};

/// The forks of one value. Events may come in any order, twice, or for an unknown fork: also before the creating call,
/// which is larger and slower than the notifications about its handles. The table does not remember which lives are
/// over: a caller that reports an event of such a life calls `drop_node` again (RR-5).
class ForkTable {
 public:
  /// The most deleted forks remembered; the oldest is forgotten first. Beyond it only the session's duplicate filter
  /// protects. Forks made by the owner itself need no memory.
  static constexpr std::size_t kDeadForksMax = 256;

  /// Kept with a fork while it is counted or awaited: it counts how many forks a node holds.
  using Token = std::shared_ptr<const void>;

  /// For a value of node `owner`.
  ForkTable(RRefId rref, NodeName owner) : rref_(std::move(rref)), owner_(std::move(owner)) {}

  /// The creating call arrived from `creator`, which holds `fork`. Answers as `forked`; `revoked`: the creator has
  /// dropped its handle meanwhile. A refused call creates the value too, as an error (RR-2).
  [[nodiscard]] ForkOutcome created(const ForkId& fork, const NodeLife& creator, Token token = {});

  /// The owner gives the handle `fork`, an id of its own, to `holder`. Returns false, and counts nothing, if the value
  /// is gone. REQUIRES: called before the handle is sent (RR-3).
  [[nodiscard]] bool hand_out(const ForkId& fork, const NodeLife& holder, Token token = {});

  /// The owner's `fork` was never sent, or was refused unread.
  void undo(const ForkId& fork);

  /// RRefForked arrived from `holder`.
  [[nodiscard]] ForkOutcome forked(const ForkId& fork, const NodeLife& holder, Token token = {});

  /// RRefDeleted arrived from `holder`. Returns false, and changes nothing, if another node holds that fork.
  [[nodiscard]] bool deleted(const ForkId& fork, const NodeLife& holder, Token token = {});

  /// Returns whether `forked`, or an earlier `deleted`, would add `fork` to the table.
  [[nodiscard]] bool is_new(const ForkId& fork, const NodeLife& holder) const;

  /// A handle returned to its owner. Returns true if the parent waits for RRefForkAck: the fork is a user's, not one of
  /// the owner's own. REQUIRES: the owner called `hold()` for it first.
  [[nodiscard]] bool came_home(const ForkId& fork);

  /// Counts one more local handle of the owner, or a running use of the value. The first one creates a value that the
  /// owner makes itself. Returns false if the value is gone.
  [[nodiscard]] bool hold();
  /// Undoes one `hold()`.
  void release();

  /// That life of a node is over: deletes its forks (RR-5). A value that it was to create can no longer be created.
  void drop_node(const NodeLife& life);

  /// Returns true once the value was created, or can no longer be, and there is no fork, no local handle and no fork
  /// whose delete came first (RR-1). Final: the value may be dropped, and later events are answered `revoked`.
  [[nodiscard]] bool ended() const noexcept { return ended_; }

  /// Returns whether no node holds a handle or will report one, and nothing on this node does.
  [[nodiscard]] bool is_unused() const noexcept { return live_.empty() && awaited_.empty() && holds_ == 0; }

  [[nodiscard]] std::size_t fork_count() const noexcept { return live_.size(); }
  [[nodiscard]] std::size_t hold_count() const noexcept { return holds_; }
  /// Returns false while the creating call may still be on its way.
  [[nodiscard]] bool is_created() const noexcept { return created_; }
  [[nodiscard]] bool is_live(const ForkId& fork) const { return live_.contains(fork); }
  /// Returns the holders of live forks, for reports.
  [[nodiscard]] std::set<NodeLife> holders() const;
  /// Returns the whole state in one line, equal for equal tables: "created, 1 held here, live trainer.4 on ps1".
  [[nodiscard]] std::string text() const;

 private:
  struct Live {
    NodeLife holder;
    Token token;
  };
  struct Dead {
    ForkId fork;
    NodeLife holder;
  };

  [[nodiscard]] bool is_own(const ForkId& fork) const { return fork.creator == owner_; }
  [[nodiscard]] bool is_dead(const ForkId& fork) const;
  void bury(const ForkId& fork, const NodeLife& holder);
  void settle();

  RRefId rref_;
  NodeName owner_;
  bool created_ = false;  // or never will be: its creator is gone
  bool ended_ = false;
  std::size_t holds_ = 0;
  std::map<ForkId, Live> live_;
  std::map<std::pair<ForkId, NodeLife>, Token> awaited_;
  std::list<Dead> dead_;  // a list takes no memory while it is empty
};

/// The values that a node owned and dropped, so that late messages about one are answered and start nothing.
class EndedRRefs {
 public:
  /// The most values remembered; the oldest is forgotten first. Values that the node itself created need no memory.
  static constexpr std::size_t kRememberedMax = 65536;

  explicit EndedRRefs(NodeName self) : self_(std::move(self)) {}

  /// Records that the table of `rref` has ended.
  void add(const RRefId& rref);

  /// That life of a node is over. It sends no further creating calls, so its values need no memory.
  void drop_creator(const NodeLife& life);

  /// For an id without a table: `ended` if no creating call can come any more (answer ref_revoked); `unknown` if one
  /// may be on its way (make a table and let the event wait).
  [[nodiscard]] detail::Recall recall(const RRefId& rref) const;

 private:
  using Age = std::uint64_t;
  using Creator = std::pair<NodeName, std::uint64_t>;

  void forget_oldest();

  NodeName self_;
  Age next_age_ = 0;
  std::map<Age, RRefId> by_age_;
  std::map<Creator, std::map<std::uint64_t, Age>> ended_;  // of a creator, by serials; none is empty
};

}  // namespace troupe

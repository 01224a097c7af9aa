// The owner's side of one RRef: which nodes hold a handle of the value, and whether its life has ended. Rules RR-1 to
// RR-5 of PROTOCOLS.md. Plain state: no CAF, no clock; one thread at a time.
//
//   unknown --hand_out, forked--> live --deleted, undo, came_home, drop_node--> dead
//   unknown --deleted--> awaited --forked, drop_node--> dead             (the delete overtook its fork)
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>

#include "actors/core/actor_directory.h"
#include "actors/core/node_life.h"
#include "messages/ids.h"

namespace troupe {

/// What the owner answers to a fork that was reported to it. In all cases but `refused` the parent gets its
/// RRefForkAck: nothing is gained by keeping the parent's handle any longer.
enum class ForkOutcome : std::uint8_t {
  known,    ///< counted; the holder gets RRefForkAck too: its handle is confirmed
  revoked,  ///< the fork was deleted before, or the value is gone; the holder gets RRefRevoked
  refused,  ///< protocol_violation: another node holds this fork
};

/// The forks of one value. Every event may come in any order, twice, or for a fork never heard of: also before the
/// creating call, which is larger and slower than the words about the handles that its sender already passed on.
/// Which lives are over is not remembered here: who brings a word of one that is calls `drop_node` again (RR-5).
class ForkTable {
 public:
  /// Deleted forks remembered per table, oldest forgotten first. Beyond it the session's duplicate filter stands alone;
  /// forks made by the owner itself need no memory.
  static constexpr std::size_t kDeadForksMax = 256;

  /// Kept with a fork as long as it is counted or awaited; what counts how many a node holds may end with it.
  using Token = std::shared_ptr<const void>;

  /// For a value of the node `owner`.
  ForkTable(RRefId rref, NodeName owner) : rref_(std::move(rref)), owner_(std::move(owner)) {}

  /// The creating call came from `creator`, which holds `fork`. Answer as for `forked`; `revoked` says that the creator
  /// dropped its handle meanwhile. A call that is refused creates the value too, as an error (RR-2).
  [[nodiscard]] ForkOutcome created(const ForkId& fork, const NodeLife& creator, Token token = {});

  /// The owner gives the handle `fork`, an id of its own, to `holder`; call it before the handle leaves (RR-3).
  /// Returns false, and counts nothing, if the value is gone.
  [[nodiscard]] bool hand_out(const ForkId& fork, const NodeLife& holder, Token token = {});

  /// The owner's `fork` never left, or was refused unread.
  void undo(const ForkId& fork);

  /// RRefForked came from `holder`.
  [[nodiscard]] ForkOutcome forked(const ForkId& fork, const NodeLife& holder, Token token = {});

  /// RRefDeleted came from `holder`. Returns false, and changes nothing, if that fork is another node's.
  [[nodiscard]] bool deleted(const ForkId& fork, const NodeLife& holder, Token token = {});

  /// Whether `forked`, or `deleted` if it comes first, would add `fork` to the table.
  [[nodiscard]] bool is_new(const ForkId& fork, const NodeLife& holder) const;

  /// A handle came back to its owner, which took `hold()` for it first. Returns true if the parent waits for
  /// RRefForkAck: the fork is a user's, not one the owner gave to itself.
  [[nodiscard]] bool came_home(const ForkId& fork);

  /// One more local handle of the owner's own, or a running use of the value; the first one creates a value of the
  /// owner's own making. Returns false if the value is gone.
  [[nodiscard]] bool hold();
  /// Undoes one `hold()`.
  void release();

  /// That life of a node is over: its forks are deleted (RR-5), and a value that it was to create can no longer be.
  void drop_node(const NodeLife& life);

  /// True once the value was created, or can no longer be, and nobody is left: no fork, no local handle, no fork whose
  /// delete came first (RR-1). Final: the value may be dropped, and whatever comes later is answered `revoked`.
  [[nodiscard]] bool ended() const noexcept { return ended_; }

  [[nodiscard]] std::size_t fork_count() const noexcept { return live_.size(); }
  [[nodiscard]] std::size_t hold_count() const noexcept { return holds_; }
  /// False while the creating call may still be on its way.
  [[nodiscard]] bool is_created() const noexcept { return created_; }
  [[nodiscard]] bool is_live(const ForkId& fork) const { return live_.contains(fork); }
  /// Who holds a live fork, for reports.
  [[nodiscard]] std::set<NodeLife> holders() const;
  /// The whole state in one line, equal for equal tables: "created, 1 held here, live trainer.4 on ps1".
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
  std::deque<Dead> dead_;
};

/// What a node remembers of values it owned and dropped, so that a late word about one is answered and starts nothing.
class EndedRRefs {
 public:
  /// Values remembered; beyond it the oldest is forgotten. Values that the node itself created need no memory.
  static constexpr std::size_t kRememberedMax = 65536;

  explicit EndedRRefs(NodeName self) : self_(std::move(self)) {}

  /// The table of `rref` has ended.
  void add(const RRefId& rref);

  /// That life of a node is over. No call of it that would create a value can come: its values need no memory.
  void drop_creator(const NodeLife& life);

  /// For an id without a table: `ended` if no creating call can come any more (answer ref_revoked), `unknown` if it may be
  /// on its way (make a table and let what came wait).
  [[nodiscard]] detail::Recall recall(const RRefId& rref) const;

 private:
  NodeName self_;
  std::unordered_set<RRefId> ended_;
  std::deque<RRefId> order_;
};

}  // namespace troupe

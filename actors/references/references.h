// All remote references of one node: the handles its programs hold, and the values it owns for others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/calls/value_box.h"
#include "actors/core/node_core.h"
#include "actors/core/node_life.h"
#include "actors/core/query.h"
#include "actors/core/wait_point.h"
#include "actors/core/promise_guard.h"
#include "actors/references/rref_handle.h"
#include "actors/references/turn_queue.h"
#include "actors/references/use_kind.h"
#include "actors/core/reports.h"
#include "messages/ids.h"
#include "messages/payload.h"

namespace troupe::detail {

/// One use of a value that this node owns and the turn it has; the use ends with the last copy.
class ValueUse {
 public:
  ValueUse(std::shared_ptr<NodeCore> node, RRefId rref, TurnId turn)
      : node_(std::move(node)), rref_(std::move(rref)), turn_(turn) {}
  ~ValueUse();
  ValueUse(const ValueUse&) = delete;
  ValueUse& operator=(const ValueUse&) = delete;

  /// The thread is about to wait for something else: others may use the value meanwhile.
  void give_up_turn();
  /// Tells `granted` when it is this use's turn again, or the owner has ended. `granted` must not block.
  void ask_for_turn(std::function<void()> granted);
  /// Waits, through `hook` if there is one, until it is this use's turn again.
  void take_turn_again(BlockingHook* hook);

 private:
  const std::shared_ptr<NodeCore> node_;
  const RRefId rref_;
  const TurnId turn_;
};

/// Told the value and the use of it, or why there is none. Must not block.
using UseHandler = std::function<void(Result<ValueBox> value, std::shared_ptr<ValueUse> use)>;

/// Likewise, and the version of the value.
using CopyHandler = std::function<void(Result<ValueBox> value, std::uint64_t version, std::shared_ptr<ValueUse> use)>;

/// Thread rule: any thread may call any member; none blocks.
class References {
 public:
  explicit References(NodeCore& node);
  ~References();
  References(const References&) = delete;
  References& operator=(const References&) = delete;

  /// One more handle of the value travels to node `to`; this node's own is kept until the owner knows the new one.
  [[nodiscard]] msg::RRefHandout hand_out(const std::shared_ptr<RRefHandle>& handle, const NodeLife& to);

  /// The message with `handout` never left.
  void take_back(const msg::RRefHandout& handout);

  /// A handle arrived from node `from`. All handles of one value on this node are one.
  [[nodiscard]] std::shared_ptr<RRefHandle> received(const msg::RRefHandout& handout, const NodeName& from);

  /// A handle for a value that node `owner` is about to make, at our request, which carries `fork` (set here).
  [[nodiscard]] std::shared_ptr<RRefHandle> created(const RRefId& rref, ForkId& fork, const NodeName& owner,
                                                    const std::string& type, RRefOrigin origin);

  /// The creating call of `handle` was answered, or failed.
  void creation_ended(RRefHandle& handle, const ForkId& fork, const Result<Unit>& result);

  /// Makes this node the owner of `value`.
  [[nodiscard]] std::shared_ptr<RRefHandle> own(ValueBox value, const std::string& type, RRefOrigin origin,
                                                Sharing sharing = Sharing::turns);

  /// Why every use of `handle` fails, if it does.
  [[nodiscard]] std::optional<Error> failure(const RRefHandle& handle) const;

  /// Whether the owner is known to count this handle.
  [[nodiscard]] bool is_confirmed(const RRefHandle& handle) const;

  /// The last copy of `rref` on this node is gone, which stood for `holds` handles.
  void dropped(const RRefId& rref, const NodeLife& owner, std::size_t holds);

  /// Uses the value of `rref`, which this node owns, once it exists. Fails with `cancelled` if who asked for it goes
  /// before, or `turn` is withdrawn.
  void use(const RRefId& rref, TurnId turn, UsePurpose purpose, UseHandler begin);
  void use(const RRefId& rref, UsePurpose purpose, UseHandler begin) { use(rref, next_turn(), std::move(purpose), std::move(begin)); }

  /// Reads it for a copy that `watcher` keeps; RRefChanged will tell when it is out of date.
  void copy(const RRefId& rref, TurnId turn, const NodeLife& watcher, CopyHandler begin);

  /// A name for a use that is to begin.
  [[nodiscard]] TurnId next_turn();

  /// Nobody wants the use any more: fails it with `cancelled` if it has not begun.
  void withdraw(const RRefId& rref, TurnId turn);

  /// The value was changed without a turn. `told` is let go when who holds a copy has been told, or nobody can be.
  void changed(const RRefId& rref, std::shared_ptr<const WhenGone> told);

  /// Tells `done` the value of `rref`, which this node owns, once it exists: for shards and contexts, by a word of `asker`.
  /// On any thread.
  void value_of(const RRefId& rref, const NodeLife& asker, std::function<void(Result<ValueBox>)> done);

  /// The call that creates `rref` has come, with its creator's handle. Where there is no room for either it is to be refused with
  /// the returned error; the value is created all the same, and is to be that error (RR-2).
  [[nodiscard]] std::optional<Error> begin_value(const RRefId& rref, const ForkId& fork, const NodeLife& creator);

  /// What that call made, or why there is no value.
  void set_value(const RRefId& rref, Result<ValueBox> value, Sharing sharing = Sharing::turns);

  /// That call is refused. Its creator undoes its handle: it deletes nothing.
  void refuse_value(const RRefId& rref, const ForkId& fork, const NodeLife& creator, const Error& why);

  /// RRefForked, RRefDeleted, RRefForkAck, RRefRevoked, RRefChanged.
  void handle(Delivery delivery);

  void peer_up(const Peer& peer);
  void peer_down(const Peer& peer, const Error& why);

  /// Fails everything that waits, drops the values (on the pool), ends the actors.
  void stop(const Error& why);

  /// The handles of other nodes' values that the program still holds, and where it got them, one line each.
  [[nodiscard]] std::vector<std::string> held() const;

  [[nodiscard]] std::size_t owned_values() const;
  [[nodiscard]] std::size_t handles() const;

  /// Handles of other nodes' values, and of these those that their owners have not confirmed yet.
  [[nodiscard]] std::size_t forks() const;
  [[nodiscard]] std::size_t unconfirmed_forks() const;

  /// The values of this node that are being used, in no order.
  void list_users(const Query<ValueInUse>::ReplySlot& slot) const;

 private:
  friend class ValueUse;
  void end_use(const RRefId& rref, TurnId turn);
  void suspend_use(const RRefId& rref, TurnId turn);
  void resume_use(const RRefId& rref, TurnId turn, std::function<void()> granted);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace troupe::detail

// All remote references of one node: the handles that its programs hold, and the values that it owns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "actors/calls/value_box.h"
#include "actors/core/node_core.h"
#include "actors/core/promise_guard.h"
#include "actors/core/query.h"
#include "actors/core/reports.h"
#include "actors/core/wait_point.h"
#include "actors/references/copied_variables.h"
#include "actors/references/rref_handle.h"
#include "actors/references/turn_queue.h"
#include "messages/ids.h"
#include "messages/payload.h"
#include "messages/rref.h"

namespace troupe::detail {

class PublishedValues;

/// One use of a value of this node, and its turn. The use ends when the last copy is destroyed.
class ValueUse {
 public:
  ValueUse(std::shared_ptr<NodeCore> node, RRefId rref, TurnId turn)
      : node_(std::move(node)), rref_(std::move(rref)), turn_(turn) {}
  ~ValueUse();
  ValueUse(const ValueUse&) = delete;
  ValueUse& operator=(const ValueUse&) = delete;

  /// The thread is about to wait for something else, or to do without the turn that it has asked for: other functions
  /// may use the value.
  void give_up_turn();
  /// The function goes on without the turn until the use ends, and may still change the value: other functions may use
  /// it. REQUIRES: it does not ask for the turn again.
  void leave_turn();
  /// Calls `granted` when the use has the turn again, or the owner has ended. REQUIRES: `granted` does not block.
  void ask_for_turn(std::function<void()> granted, TurnOrder order = TurnOrder::returning);
  /// Gives the turn up, runs `part`, and waits, through `hook` if not null, until the use has the turn again. Throws
  /// std::bad_alloc; then it has the turn, and has not run `part`. REQUIRES: `part` does not throw.
  void run_without_turn(BlockingHook* hook, const std::function<void()>& part);

 private:
  const std::shared_ptr<NodeCore> node_;
  const RRefId rref_;
  const TurnId turn_;
};

/// Called with the value and its use, or with the Error. REQUIRES: does not block.
using UseHandler = std::function<void(Result<ValueBox> value, std::shared_ptr<ValueUse> use)>;

/// Called with the value, its version and its use, or with the Error. REQUIRES: does not block.
using CopyHandler = std::function<void(Result<ValueBox> value, std::uint64_t version, std::shared_ptr<ValueUse> use)>;

/// The remote references of one node: creates, hands out, receives and releases handles, and finds the owners of this
/// node's values. Thread rule: any thread may call any member; none blocks.
class References {
 public:
  explicit References(NodeCore& node);
  ~References();
  References(const References&) = delete;
  References& operator=(const References&) = delete;

  /// Makes one more handle of the value, for a message to node `to`. This node keeps its own until the owner knows the
  /// new one.
  [[nodiscard]] msg::RRefHandout hand_out(const std::shared_ptr<RRefHandle>& handle, const NodeLife& to);

  /// The message with `handout` was never sent.
  void take_back(const msg::RRefHandout& handout) noexcept;

  /// Returns the handles that arrived with a message from node `from`. All handles of one value on this node are one.
  /// Handles that get no memory end the node.
  [[nodiscard]] std::vector<std::shared_ptr<RRefHandle>> received(std::span<const msg::RRefHandout> handouts,
                                                                  const NodeName& from);

  /// Returns the handle of a value that node `owner` will make at this node's request, which carries `fork` (set here).
  [[nodiscard]] std::shared_ptr<RRefHandle> created(const RRefId& rref, ForkId& fork, const NodeName& owner,
                                                    const std::string& type, RRefOrigin origin);

  /// The creating call of `handle` was answered, or failed.
  void creation_ended(RRefHandle& handle, const ForkId& fork, const Result<Unit>& result) noexcept;

  /// Makes this node the owner of `value`.
  [[nodiscard]] std::shared_ptr<RRefHandle> own(ValueBox value, const std::string& type, RRefOrigin origin,
                                                Sharing sharing = Sharing::turns);

  /// Returns why every use of `handle` fails; nullopt if it has not failed.
  [[nodiscard]] std::optional<Error> failure(const RRefHandle& handle) const;

  /// Returns whether the owner has acknowledged this handle.
  [[nodiscard]] bool is_confirmed(const RRefHandle& handle) const;

  /// The last copy of `rref` on this node was destroyed; it stood for `holds` handles. Throws std::bad_alloc.
  void dropped(const RRefId& rref, const NodeLife& owner, std::size_t holds);

  /// Uses the value of `rref`, which this node owns, once it exists. Fails with `cancelled` if the requester goes down
  /// before, or `turn` is withdrawn.
  void use(const RRefId& rref, TurnId turn, UsePurpose purpose, UseHandler begin);
  void use(const RRefId& rref, UsePurpose purpose, UseHandler begin) {
    use(rref, next_turn(), std::move(purpose), std::move(begin));
  }

  /// Reads the value for a copy that `watcher` keeps; RRefChanged notifies `watcher` when the copy is out of date.
  void copy(const RRefId& rref, TurnId turn, const NodeLife& watcher, CopyHandler begin);

  /// Returns the id of a new use.
  [[nodiscard]] TurnId next_turn();

  /// Cancels a use that is no longer needed: fails it with `cancelled` unless it has started. Throws
  /// std::bad_alloc.
  void withdraw(const RRefId& rref, TurnId turn);

  /// The value of `variable`, to which this node may own references, has changed without a turn on them. Releases
  /// `told` when every holder of a copy has been notified, or can no longer be notified.
  void changed(const Variable& variable, const std::shared_ptr<const WhenGone>& told);
  [[nodiscard]] CopiedVariables& copied_variables();

  /// Calls `done`, on any thread, with the value of `rref`, which this node owns, once it exists. For shards and
  /// contexts, at the request of `asker`.
  void value_of(const RRefId& rref, const NodeLife& asker, std::function<void(Result<ValueBox>)> done);

  /// The call that creates `rref` arrived, with its creator's handle. Returns the error with which to refuse it if
  /// there is no room for the value or the handle; then the value is created all the same, and must be set to that
  /// error (RR-2).
  [[nodiscard]] std::optional<Error> begin_value(const RRefId& rref, const ForkId& fork, const NodeLife& creator);

  /// Sets the result of that call: the value, or why there is none.
  void set_value(const RRefId& rref, Result<ValueBox> value, Sharing sharing = Sharing::turns);

  /// That call is refused. Its creator undoes its handle and deletes nothing.
  void refuse_value(const RRefId& rref, const ForkId& fork, const NodeLife& creator, const Error& why);

  void handle(const NodeLife& from, const msg::RRefForked& forked);
  void handle(const NodeLife& from, const msg::RRefDeleted& deleted);
  void handle(const NodeLife& from, const msg::RRefForkAck& known);
  void handle(const NodeLife& from, const msg::RRefRevoked& revoked);
  void handle(const NodeLife& from, const msg::RRefChanged& changed);

  /// For the owner of a value that no call has created and no use needs, and that has handled `handled` messages:
  /// forgets the owner, unless another message is on its way to it. Returns whether it did.
  [[nodiscard]] bool forget(const RRefId& rref, std::uint64_t handled);

  void peer_up(const Peer& peer);
  void peer_down(const Peer& peer, const Error& why);

  /// Destroys the value of `rref`, or a copy of it, if this is its last holder, where its destructor may run: `end`.
  void discard(const RRefId& rref, ValueEnd end, std::shared_ptr<const void> value) noexcept;

  /// Fails everything that waits, destroys the values (on the pool) and ends the actors.
  void stop(const Error& why);

  /// The values of this node that have names.
  [[nodiscard]] PublishedValues& published();

  /// Returns the handles of other nodes' values that the program still holds, with their origins, one line each.
  [[nodiscard]] std::vector<std::string> held() const;

  [[nodiscard]] std::size_t owned_values() const;
  [[nodiscard]] std::size_t handles() const;

  /// Counts of handles of other nodes' values, and of those among them that are not acknowledged.
  [[nodiscard]] std::size_t forks() const;
  [[nodiscard]] std::size_t unconfirmed_forks() const;

  /// Replies with the values of this node that are in use, in no order.
  void list_users(const Query<ValueInUse>::ReplySlot& slot) const;

 private:
  friend class ValueUse;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace troupe::detail

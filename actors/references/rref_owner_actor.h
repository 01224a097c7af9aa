// Holds the value of one RRef and lives as long as any node holds a handle of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "actors/calls/value_box.h"
#include "actors/core/caf.h"
#include "actors/core/node_core.h"
#include "actors/core/promise_guard.h"
#include "actors/core/reports.h"
#include "actors/references/fork_acks.h"
#include "actors/references/fork_table.h"
#include "actors/references/turn_queue.h"

namespace troupe::detail {

/// The creating call arrived; its sender holds `fork`, which `token` counts.
struct OwnerCreated {
  ForkId fork;
  NodeLife creator;
  ForkTable::Token token = {};
};
/// The value exists, or never will (the Error).
struct OwnerValue {
  std::shared_ptr<const Result<ValueBox>> value;
  Sharing sharing = Sharing::turns;
};
struct OwnerForked {
  ForkId fork;
  NodeLife holder;
  NodeName parent;
};
struct OwnerDeleted {
  ForkId fork;
  NodeLife holder;
};
/// A message to `holder` will be sent with one of the owner's own forks, which `token` counts; or was never sent after
/// all.
struct OwnerHandedOut {
  ForkId fork;
  NodeLife holder;
  ForkTable::Token token = {};
};
struct OwnerHandOutUndone {
  ForkId fork;
};
/// A handle returned to this node: it becomes one more local handle, and its fork is acknowledged.
struct OwnerForkReturned {
  ForkId fork;
  std::shared_ptr<ForkAcks> acks;
};
/// One more local handle, or one less.
struct OwnerHeld {};
struct OwnerReleased {};

/// A use of the value. `begin` is called with the value when it exists and the use has the turn, or with the Error.
/// REQUIRES: `begin` does not block. The use lasts until UseEnded; one that has not started ends with its requester's
/// life.
struct UseArrived {
  TurnId turn;
  UsePurpose purpose;
  std::optional<NodeLife> watcher;  ///< keeps a copy of what it reads, and is notified of the next change
  std::function<void(const Result<ValueBox>&, std::uint64_t version)> begin;
  TimePoint came = {};  ///< when the use arrived; set by the owner
};
/// The value was changed without a turn, by an optimizer's step. `told` is destroyed with the message, when the holders
/// of copies have been notified.
struct OwnerChanged {
  std::shared_ptr<const WhenGone> told;
};
/// Three reports about a use: it starts to wait and gives up its turn, or its wish for it; it wants to continue after
/// its wait; it has ended.
struct UseSuspended {
  TurnId turn;
  bool goes_on = false;  ///< it does not wait: it goes on without the turn until it ends
};
struct UseResumed {
  TurnId turn;
  std::shared_ptr<const WhenGone> grant;  ///< lets the function continue; called also if the owner ends first
  TurnOrder order = TurnOrder::returning;
};
struct UseEnded {
  TurnId turn;
};
/// Cancels a use that has not started; it fails with `cancelled`.
struct UseWithdrawn {
  TurnId turn;
};
/// Those lives of peers are over. All owners share the list.
struct OwnerPeersDown {
  std::shared_ptr<const std::vector<NodeLife>> lives;
};
/// Asks for the users of the value. No reply if there are none.
struct ListUsers {
  Query<ValueInUse>::ReplySlot slot;
};
struct StopOwner {
  Error why;
};

}  // namespace troupe::detail

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::OwnerCreated)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::OwnerValue)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::OwnerForked)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::OwnerDeleted)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::OwnerHandedOut)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::OwnerHandOutUndone)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::OwnerForkReturned)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::OwnerHeld)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::OwnerReleased)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::UseArrived)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::OwnerChanged)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::UseSuspended)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::UseResumed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::UseEnded)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::UseWithdrawn)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::OwnerPeersDown)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::ListUsers)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::StopOwner)

namespace troupe::detail {

/// Counts the handles (ForkTable), grants turns (TurnQueue), keeps uses that arrive before the value.
/// Name: "<node>/rref/<creator>.<serial>".  Spawned by: References, on the first message about the value.
/// Ends: when its last fork and local handle are gone and no use is under way (RR-1), or on StopOwner, which fails
/// every waiting use. It does not quit: it answers late messages until the last sender releases it. An exception of a
/// handler fails the value: every waiting and later use fails with it.
using RRefOwnerActor = caf::typed_actor<caf::reacts_to<OwnerCreated>,        //
                                        caf::reacts_to<OwnerValue>,          //
                                        caf::reacts_to<OwnerForked>,         //
                                        caf::reacts_to<OwnerDeleted>,        //
                                        caf::reacts_to<OwnerHandedOut>,      //
                                        caf::reacts_to<OwnerHandOutUndone>,  //
                                        caf::reacts_to<OwnerForkReturned>,   //
                                        caf::reacts_to<OwnerHeld>,           //
                                        caf::reacts_to<OwnerReleased>,       //
                                        caf::reacts_to<UseArrived>,          //
                                        caf::reacts_to<OwnerChanged>,        //
                                        caf::reacts_to<UseSuspended>,        //
                                        caf::reacts_to<UseResumed>,          //
                                        caf::reacts_to<UseEnded>,            //
                                        caf::reacts_to<UseWithdrawn>,        //
                                        caf::reacts_to<OwnerPeersDown>,      //
                                        caf::reacts_to<ListUsers>,           //
                                        caf::reacts_to<StopOwner>>;

/// Used by the actor only.
class RRefOwnerState {
 public:
  static inline const char* name = "rref_owner";

  /// `on_end` is called once, when the value's life is over.
  void begin(NodeCore& node, RRefId rref, std::function<void()> on_end);

  void created(const OwnerCreated& m);
  void value(OwnerValue& m);
  void forked(const OwnerForked& m);
  void deleted(const OwnerDeleted& m);
  void handed_out(const OwnerHandedOut& m);
  void came_home(const OwnerForkReturned& m);
  void use(UseArrived& m);
  /// Cancels a use at its requester's wish. Does nothing if the use has started.
  void withdraw(const UseWithdrawn& m);
  /// Declares all copies taken until now out of date.
  void changed();
  void suspended(const UseSuspended& m);
  void resumed(UseResumed& m);
  void use_ended(const UseEnded& m);
  void peers_down(const OwnerPeersDown& m);
  /// The value is lost: every waiting and later use fails with `why` until the value's life ends.
  void fail(Error why);
  /// Fails every waiting and later use with `why` and drops the value, unless that was done before.
  void stop(const Error& why);
  /// Ends the value's life once no message can ask for the value any more; it ends only here. Forgets a value that no
  /// call has created and no use needs: the creating call makes it anew (RR-14). Once a stream has no handle, cancels
  /// what its function waits for, on the pool, since that runs stop callbacks.
  void settle();
  /// Each handler calls it first.
  RRefOwnerState& handling() {
    ++handled_;
    return *this;
  }
  /// A handler threw, with `why`.
  void failed(const Error& why) noexcept;

  [[nodiscard]] ValueInUse users() const;

  [[nodiscard]] ForkTable& forks() { return *forks_; }

 private:
  /// Another node holds the fork that `reporter` has reported.
  void tell_refused(const ForkId& fork, const NodeLife& reporter) const;
  void begin_or_queue(UseArrived use);
  void go_on(std::optional<TurnId> turn);
  void granted(UseArrived& use);
  /// `watcher` gets a copy of the value and is notified of the next change.
  void copied_by(const NodeLife& watcher);
  void came_back(TurnId turn);
  /// Records whether that use, if it is a change, may change the value from now on.
  void set_may_change(TurnId turn, bool may_change);
  void stop_stream();
  /// Checks whether `life` is over. The value depends on it only from now on, so an earlier end was not reported here.
  void look_again(const NodeLife& life);
  void peer_down(const NodeLife& peer);
  void end_uses_waiting_for(const NodeLife& requester);
  /// Ends the waiting uses for which `meant` is true, with `why`.
  template <class Meant>
  void end_waiting_uses(Meant meant, const Error& why);
  void drop(std::shared_ptr<const Result<ValueBox>> value) const;
  [[nodiscard]] bool has_handles() const;
  [[nodiscard]] bool is_only_a_name() const;
  [[nodiscard]] Error gone() const;

  NodeCore* node_ = nullptr;
  RRefId rref_;
  std::function<void()> on_end_;
  std::optional<ForkTable> forks_;
  TurnQueue turns_;
  std::uint64_t handled_ = 0;                                    // messages
  bool call_came_ = false;                                       // the creating call
  bool stream_stopped_ = false;                                  // the pool was given what stops it
  std::optional<Error> stopped_;                                 // why no use can succeed any more
  std::shared_ptr<const Result<ValueBox>> value_;                // null until it exists
  std::vector<UseArrived> early_;                                // arrived before the value
  std::map<TurnId, UseArrived> arriving_;                        // wait for their first turn
  std::map<TurnId, std::shared_ptr<const WhenGone>> returning_;  // wait to continue
  struct Use {
    UsePurpose purpose;
    TimePoint came;           // when the use arrived
    bool may_change = false;  // has begun a change, and has the turn or goes on without it
  };
  std::map<TurnId, Use> held_;      // uses under way
  std::size_t changing_count_ = 0;  // those that may change the value now
  std::uint64_t version_ = 1;       // grows with every change
  std::set<NodeLife> watchers_;     // took a copy since the last change
  const void* variable_ = nullptr;  // the id of the Variable that was copied last: the entry in CopiedVariables
};

/// `on_end` is called once, on the actor's turn, when the value's life is over.
RRefOwnerActor::behavior_type rref_owner_actor(RRefOwnerActor::stateful_pointer<RRefOwnerState> self, NodeCore* node,
                                               RRefId rref, std::function<void()> on_end);

}  // namespace troupe::detail

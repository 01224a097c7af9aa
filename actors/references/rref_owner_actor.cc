#include "actors/references/rref_owner_actor.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "actors/core/guarded.h"
#include "actors/core/lives.h"
#include "actors/core/peer_accounts.h"
#include "actors/references/copied_variables.h"
#include "actors/references/references.h"

namespace troupe::detail {

void RRefOwnerState::begin(NodeCore& node, RRefId rref, std::function<void()> on_end) {
  node_ = &node;
  rref_ = std::move(rref);
  on_end_ = std::move(on_end);
  forks_.emplace(rref_, node.name());
}

void RRefOwnerState::created(const OwnerCreated& m) {
  call_came_ = true;
  const ForkOutcome outcome = forks_->created(m.fork, m.creator, m.token);
  look_again(m.creator);
  if (outcome == ForkOutcome::refused) tell_refused(m.fork, m.creator);
}

void RRefOwnerState::value(OwnerValue& m) {
  if (value_ || stopped_) return drop(std::move(m.value));
  value_ = std::move(m.value);
  turns_ = TurnQueue(m.sharing);
  for (UseArrived& use : std::exchange(early_, {})) begin_or_queue(std::move(use));
}

// Of a handle whose word is lost, its holder or its parent would never hear: without memory the node ends.
void RRefOwnerState::forked(const OwnerForked& m) try {
  ForkTable::Token token;
  if (forks_->is_new(m.fork, m.holder)) {
    auto taken = node_->accounts().forks.take(m.holder);
    if (!taken) {  // its parent need not wait for it
      node_->notify(m.parent, "references", msg::RRefForkAck{{{rref_, m.fork}}}, Haste::rides);
      return node_->notify(m.holder, "references", msg::RRefRevoked{rref_, m.fork, taken.error()});
    }
    token = std::move(taken).value();
  }
  const ForkOutcome outcome = forks_->forked(m.fork, m.holder, std::move(token));
  look_again(m.holder);
  // Its parent was told when the other reported it.
  if (outcome == ForkOutcome::refused) return tell_refused(m.fork, m.holder);
  node_->notify(m.parent, "references", msg::RRefForkAck{{{rref_, m.fork}}}, Haste::rides);
  if (outcome == ForkOutcome::known && m.parent != m.holder.name) {
    node_->notify(m.holder, "references", msg::RRefForkAck{{{rref_, m.fork}}}, Haste::rides);
  } else if (outcome == ForkOutcome::revoked) {
    node_->notify(m.holder, "references", msg::RRefRevoked{rref_, m.fork, gone()});
  }
} catch (const std::bad_alloc&) {
  node_->fail(failure_of_current_exception("a reference"));
}

void RRefOwnerState::tell_refused(const ForkId& fork, const NodeLife& reporter) const try {
  Error why = gone();
  why.message = fmt::format("another node holds handle {}", fork.text());
  node_->notify(reporter, "references", msg::RRefRevoked{rref_, fork, std::move(why)});
} catch (const std::bad_alloc&) {
  node_->fail(failure_of_current_exception("a reference"));
}

void RRefOwnerState::deleted(const OwnerDeleted& m) {
  ForkTable::Token token;
  if (forks_->is_new(m.fork, m.holder)) {
    auto [taken, is_too_much] = node_->accounts().forks.take_unrefused(m.holder);
    token = std::move(taken);
    if (is_too_much) node_->give_up(m.holder, "it deletes handles that no call brings");
  }
  static_cast<void>(forks_->deleted(m.fork, m.holder, std::move(token)));
  look_again(m.holder);
}

void RRefOwnerState::handed_out(const OwnerHandedOut& m) {
  static_cast<void>(forks_->hand_out(m.fork, m.holder, m.token));
  look_again(m.holder);
}

void RRefOwnerState::look_again(const NodeLife& life) {
  if (!node_->lives().is_over(life)) return;
  forks_->drop_node(life);
  watchers_.erase(life);
}

void RRefOwnerState::came_home(const OwnerForkReturned& m) {
  static_cast<void>(forks_->hold());
  if (forks_->came_home(m.fork)) m.acks->add(rref_, m.fork);
}

void RRefOwnerState::use(UseArrived& m) {
  if (stopped_) return m.begin(*stopped_, version_);
  if (forks_->ended()) return m.begin(gone(), version_);
  m.came = node_->clock().now();
  if (!value_) early_.push_back(std::move(m));
  static_cast<void>(forks_->hold());  // its sender's handle may be dropped before the use starts
  if (value_) begin_or_queue(std::move(m));
}

void RRefOwnerState::peers_down(const OwnerPeersDown& m) {
  for (const NodeLife& peer : *m.lives) {  // of all first: what follows may get no memory
    forks_->drop_node(peer);
    watchers_.erase(peer);
  }
  for (const NodeLife& peer : *m.lives) peer_down(peer);
}

void RRefOwnerState::peer_down(const NodeLife& peer) {
  if (!early_.empty() || !arriving_.empty()) end_uses_waiting_for(peer);
  if (!call_came_ && peer.name == rref_.creator && peer.incarnation.low == rref_.incarnation) {
    OwnerValue never{std::make_shared<const Result<ValueBox>>(
        node_->error(ErrorCode::ref_revoked, peer.name, {}, "its creator ended before the creating call arrived"))};
    value(never);
  }
}

void RRefOwnerState::end_uses_waiting_for(const NodeLife& requester) {
  // A result that is to stay waits for the value without its requester, unless nobody here knows who should make it.
  const bool may_never_come = !call_came_ && rref_.creator != node_->name() && !node_->lives().has_met(rref_);
  const auto asked_by_it = [&](const UseArrived& use) {
    return use.purpose.asked_by == requester || (may_never_come && use.purpose.counted_for == requester);
  };
  end_waiting_uses(asked_by_it, node_->error(ErrorCode::cancelled, requester.name, {}, "the requester is gone"));
}

void RRefOwnerState::withdraw(const UseWithdrawn& m) {
  end_waiting_uses([&](const UseArrived& use) { return use.turn == m.turn; },
                   node_->error(ErrorCode::cancelled, node_->name(), {}, "its requester no longer waits for it"));
}

// Uses that have started are notified by their stop_token.
template <class Meant>
void RRefOwnerState::end_waiting_uses(Meant meant, const Error& why) {
  const auto first =
      std::stable_partition(early_.begin(), early_.end(), [&](const UseArrived& use) { return !meant(use); });
  std::vector<UseArrived> ended(std::make_move_iterator(first), std::make_move_iterator(early_.end()));
  early_.erase(first, early_.end());
  for (auto next = arriving_.begin(); next != arriving_.end();) {
    const auto at = next++;
    if (!meant(at->second)) continue;
    held_.erase(at->first);
    static_cast<void>(turns_.release(at->first));  // it had no turn to pass on
    ended.push_back(std::move(arriving_.extract(at).mapped()));
  }
  for (const UseArrived& use : ended) {
    forks_->release();
    Error error = why;
    error.operation = use.purpose.what;
    use.begin(std::move(error), version_);
  }
}

void RRefOwnerState::begin_or_queue(UseArrived use) {
  if (!value_->ok()) {
    forks_->release();
    return use.begin(*value_, version_);
  }
  const TurnId turn = use.turn;
  try {
    held_.insert_or_assign(turn, Use{use.purpose, use.came});
    if (use.purpose.kind == UseKind::looks || turns_.request(turn)) {
      granted(use);
    } else {
      arriving_.emplace(turn, std::move(use));
    }
  } catch (const std::bad_alloc&) {  // the value is lost: nobody waits for a turn any more
    set_may_change(turn, false);
    held_.erase(turn);
    if (turns_.contains(turn)) static_cast<void>(turns_.release(turn));
    forks_->release();
    throw;
  }
}

void RRefOwnerState::granted(UseArrived& use) {
  if (use.purpose.kind == UseKind::changes) changed();  // holders of copies before the requester
  set_may_change(use.turn, true);
  const std::uint64_t version = version_;
  if (use.watcher) copied_by(*use.watcher);
  if (use.watcher && changing_count_ > 0) changed();  // nobody can say whether the copy has that change
  use.begin(*value_, version);
}

void RRefOwnerState::copied_by(const NodeLife& watcher) {
  const auto variable = value_->value().as<Variable>();
  const void* id = variable && variable->defined() ? variable->id() : nullptr;
  if (id != variable_) {  // the first copy, or a use has replaced the Variable
    CopiedVariables& copied = node_->references().copied_variables();
    if (id != nullptr) copied.add(id, rref_);
    if (const void* last = std::exchange(variable_, id); last != nullptr) copied.remove(last, rref_);
  }
  if (watchers_.insert(watcher).second) look_again(watcher);
}

void RRefOwnerState::changed() {
  ++version_;
  while (!watchers_.empty()) {  // one that there is no memory to tell is told of the next change
    node_->notify(*watchers_.begin(), "references", msg::RRefChanged{rref_, version_});
    watchers_.erase(watchers_.begin());
  }
}

void RRefOwnerState::set_may_change(TurnId turn, bool may_change) {
  const auto held = held_.find(turn);
  if (held == held_.end() || held->second.purpose.kind != UseKind::changes) return;
  if (std::exchange(held->second.may_change, may_change) == may_change) return;
  may_change ? ++changing_count_ : --changing_count_;
}

void RRefOwnerState::suspended(const UseSuspended& m) {
  if (returning_.erase(m.turn) > 0) return turns_.withdraw(m.turn);
  const std::optional<TurnId> next = turns_.suspend(m.turn);
  if (!m.goes_on) set_may_change(m.turn, false);
  go_on(next);
}

void RRefOwnerState::resumed(UseResumed& m) {
  // Releasing a grant calls it.
  if (stopped_) return;
  bool has_turn = false;
  try {
    has_turn = turns_.resume(m.turn, m.order);
    if (!has_turn) returning_[m.turn] = std::move(m.grant);
  } catch (const std::bad_alloc&) {  // the use goes on beside the one that has the turn
    return node_->fail(failure_of_current_exception("a use of a value"));
  }
  if (has_turn) came_back(m.turn);
}

void RRefOwnerState::use_ended(const UseEnded& m) {
  const auto held = held_.find(m.turn);
  if (held == held_.end()) return;
  const bool took_turn = held->second.purpose.kind != UseKind::looks;
  set_may_change(m.turn, false);
  held_.erase(held);
  if (took_turn) go_on(turns_.release(m.turn));
  forks_->release();
}

void RRefOwnerState::go_on(std::optional<TurnId> turn) {
  if (!turn) return;
  if (auto grant = returning_.extract(*turn)) return came_back(*turn);  // then releases the grant
  if (auto first = arriving_.extract(*turn)) granted(first.mapped());
}

/// Earlier changes of the use may have been read during its wait, and it may make more.
void RRefOwnerState::came_back(TurnId turn) {
  const auto held = held_.find(turn);
  if (held == held_.end() || held->second.purpose.kind != UseKind::changes) return;
  changed();
  set_may_change(turn, true);
}

ValueInUse RRefOwnerState::users() const {
  const TimePoint now = node_->clock().now();
  ValueInUse value{rref_.text(), {}};
  for (const auto& [turn, state] : turns_.uses()) {
    const Use& use = held_.at(turn);
    value.users.push_back({use.purpose.what, state, now - use.came});
  }
  for (const UseArrived& use : early_) value.users.push_back({use.purpose.what, UseState::early, now - use.came});
  return value;
}

void RRefOwnerState::fail(Error why) {
  if (stopped_) return;
  why.peer = node_->name();
  why.incarnation = node_->incarnation();
  spdlog::error("[{}] {}: the value {} is lost", node_->name(), why.text(), rref_.text());
  drop(std::exchange(value_, std::make_shared<const Result<ValueBox>>(std::move(why))));
  for (UseArrived& use : std::exchange(early_, {})) begin_or_queue(std::move(use));
  for (auto& [turn, use] : std::exchange(arriving_, {})) {
    held_.erase(turn);
    static_cast<void>(turns_.release(turn));  // no use gets a turn any more
    begin_or_queue(std::move(use));
  }
}

void RRefOwnerState::stop(const Error& why) {
  if (stopped_) return;
  stopped_ = why;
  for (const UseArrived& use : std::exchange(early_, {})) use.begin(why, version_);
  for (const auto& [turn, use] : std::exchange(arriving_, {})) use.begin(why, version_);
  returning_.clear();
  if (variable_ != nullptr) node_->references().copied_variables().remove(variable_, rref_);
  drop(std::exchange(value_, nullptr));
  on_end_();
}

void RRefOwnerState::settle() {
  if (forks_->ended()) return stop(gone());
  if (is_only_a_name() && node_->references().forget(rref_, handled_)) stopped_ = gone();
  const bool is_stream = value_ && value_->ok() && value_->value().ops->stop != nullptr;
  if (is_stream && !stream_stopped_ && !has_handles()) stop_stream();
}

/// Runs the stop callbacks even if all threads of the pool are busy: perhaps with the function that must stop.
void RRefOwnerState::stop_stream() {
  const auto refused = node_->executor().submit({.label = "stop callbacks",
                                                 .run =
                                                     [value = value_] {
                                                       const ValueBox& stream = value->value();
                                                       stream.ops->stop(stream.value.get());
                                                     },
                                                 .urgency = Urgency::at_once});
  stream_stopped_ = !refused;
}

/// Returns whether a node, this one or another, has a handle of the value, besides the uses that hold it.
bool RRefOwnerState::has_handles() const {
  return forks_->fork_count() > 0 || forks_->hold_count() > held_.size() + early_.size();
}

/// Returns whether no call has created the value, and no node has a handle of it or uses it.
bool RRefOwnerState::is_only_a_name() const {
  return !call_came_ && !value_ && !stopped_ && rref_.creator != node_->name() && forks_->is_unused();
}

void RRefOwnerState::failed(const Error& why) noexcept {
  try {
    fail(why);
    settle();
  } catch (...) {
    node_->fail(why);
  }
}

void RRefOwnerState::drop(std::shared_ptr<const Result<ValueBox>> value) const {
  if (!value || !value->ok() || !value->value().value) return;
  const ValueEnd end = value->value().ops->end;
  node_->references().discard(rref_, end, std::move(value));
}

Error RRefOwnerState::gone() const {
  return node_->error(ErrorCode::ref_revoked, node_->name(), {},
                      fmt::format("the value {} has been released", rref_.text()));
}

RRefOwnerActor::behavior_type rref_owner_actor(RRefOwnerActor::stateful_pointer<RRefOwnerState> self, NodeCore* node,
                                               RRefId rref, std::function<void()> on_end) {
  self->state.begin(*node, std::move(rref), std::move(on_end));
  // A node may own millions of values: its handlers hold nothing but the actor.
  const auto state = [self]() -> RRefOwnerState& { return self->state.handling(); };
  const auto settle = [self] { self->state.settle(); };
  const auto failed = [self](const Error& why) { self->state.failed(why); };
  return guarded<RRefOwnerActor::behavior_type>(
      "the owner of a value", failed,
      // CAF tries them in this order: the frequent ones first.
      [=](UseArrived& m) { state().use(m), settle(); }, [=](const UseEnded& m) { state().use_ended(m), settle(); },
      [=](const OwnerReleased&) { state().forks().release(), settle(); },
      [=](const OwnerForkReturned& m) { state().came_home(m), settle(); },
      [=](const OwnerChanged&) { state().changed(), settle(); },
      [=](const OwnerCreated& m) { state().created(m), settle(); }, [=](OwnerValue& m) { state().value(m), settle(); },
      [=](const OwnerDeleted& m) { state().deleted(m), settle(); },
      [=](const OwnerHeld&) { static_cast<void>(state().forks().hold()); },
      [=](const OwnerHandedOut& m) { state().handed_out(m), settle(); },
      [=](const OwnerForked& m) { state().forked(m), settle(); },
      [=](const OwnerHandOutUndone& m) { state().forks().undo(m.fork), settle(); },
      [=](const UseSuspended& m) { state().suspended(m), settle(); },
      [=](UseResumed& m) { state().resumed(m), settle(); },
      [=](const UseWithdrawn& m) { state().withdraw(m), settle(); },
      [=](const OwnerPeersDown& m) { state().peers_down(m), settle(); },
      [=](const ListUsers& m) {
        if (ValueInUse value = state().users(); !value.users.empty()) m.slot.add(std::move(value));
        settle();
      },
      [=](const StopOwner& m) { state().stop(m.why); });
}

}  // namespace troupe::detail

#include "actors/references/references.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <tuple>
#include <utility>

#include "actors/core/actor_directory.h"
#include "actors/core/error_not_run.h"
#include "actors/core/guarded.h"
#include "actors/core/lives.h"
#include "actors/core/peer_accounts.h"
#include "actors/core/promise_guard.h"
#include "actors/membership/membership.h"
#include "actors/references/death_notices.h"
#include "actors/references/discards.h"
#include "actors/references/fork_acks.h"
#include "actors/references/handle_table.h"
#include "actors/references/notices.h"
#include "actors/references/published_values.h"
#include "actors/references/release_queue.h"
#include "actors/references/rref_owner_actor.h"

namespace troupe::detail {
namespace {

NodeLife life_of(const Peer& peer) { return {peer.name, peer.incarnation}; }

}  // namespace

struct References::State {
  explicit State(NodeCore& n)
      : node(n),
        self{n.name(), n.incarnation()},
        discards([&n](auto job, auto refused) { n.run("drop values", std::move(job), std::move(refused)); }),
        releases([this](const ReleaseQueue::Release& release) { tell_released(release); }, on_pool("release values")),
        deaths(
            {[this] { return owners.size(); }, [this] { return owners.ids(); }},
            [this](const RRefId& rref, const auto& lives) { tell_owner(rref, OwnerPeersDown{lives}); },
            on_pool("tell owners", msg::Priority::high), [&n](Error why) { n.fail(std::move(why)); }),
        owners(
            n.lives(), [this](const RRefId& rref) { return spawn_owner(rref); }, EndedRRefs(n.name())),
        table(self) {}

  NodeCore& node;
  const NodeLife self;
  std::atomic<std::uint64_t> next_turn{1};
  Discards discards;
  ReleaseQueue releases;
  DeathNotices deaths;
  ActorDirectory<RRefId, RRefOwnerActor, EndedRRefs> owners;
  PublishedValues published;
  CopiedVariables copied;
  mutable std::mutex mutex;  // guards all below; never held during a send
  HandleTable table;
  std::map<RRefId, std::weak_ptr<RRefHandle>> handles;  // one per value with handles here

  /// Returns what runs jobs on the pool as long as the node exists.
  [[nodiscard]] ReleaseQueue::Run on_pool(const char* label, msg::Priority priority = msg::Priority::normal) const {
    return [&n = node, label, priority](auto job, auto refused) {
      const auto run = [weak = n.weak_from_this(), job = std::move(job)] {
        if (const auto core = weak.lock()) job();
      };
      n.run(label, run, std::move(refused), priority);
    };
  }
  void send(const RRefNotices& notices) const noexcept { send_notices(node, notices); }
  /// Tells `parent` that its forks are known.
  [[nodiscard]] ForkAcks::Send acknowledge_to(const NodeLife& parent) const;
  std::shared_ptr<RRefHandle> handle_for(const RRefId& rref, const NodeLife& owner, const std::string& type,
                                         RRefOrigin origin);
  /// The handle of `rref` depends on that life since just now: if the life is over, no later event reports it.
  void look_again(const RRefId& rref, const NodeLife& life, RRefNotices& notices);
  RRefOwnerActor spawn_owner(const RRefId& rref);
  void begin_held(RRefHandle& handle);

  /// Sends `message` to the value's owner, if it exists here.
  template <class Message>
  bool tell_owner(const RRefId& rref, Message message) {
    const RRefOwnerActor owner = owners.find(rref);
    if (owner) node.host().send(owner, std::move(message));
    return static_cast<bool>(owner);
  }

  /// Sends `message` to the value's owner, which is made by the first message about the value. For messages of that
  /// peer that cannot be refused: they end something, or return a handle. Returns false if the value's life is over.
  template <class Message>
  bool tell_owner(const RRefId& rref, const NodeLife& peer, Message message) {
    const auto entered = owners.enter(rref, peer, node.accounts().owners, Refusal::never);
    if (entered.is_too_much) node.give_up(peer, "it speaks of more values than calls can make");
    if (entered.actor) node.host().send(entered.actor, std::move(message));
    return static_cast<bool>(entered.actor);
  }

  void tell_released(const ReleaseQueue::Release& release) noexcept;
  void make_room(const NodeLife& peer);
  void use(const RRefId& rref, TurnId turn, UsePurpose purpose, const std::optional<NodeLife>& watcher,
           CopyHandler begin);
  [[nodiscard]] bool is_owner_of(const msg::RRefRevoked& revoked, const NodeLife& from) const;
  void never_created(const msg::RRefRevoked& revoked, const NodeLife& creator);
  [[nodiscard]] Error revoked(const RRefId& rref) const;
};

ForkAcks::Send References::State::acknowledge_to(const NodeLife& parent) const {
  return [core = node.shared_from_this(), parent](std::vector<msg::RRefFork> forks) noexcept {
    try {
      core->notify(parent.name, "references", msg::RRefForkAck{std::move(forks)}, Haste::rides);
    } catch (const std::exception& error) {  // no memory: the end of the session tells the parent, too
      core->give_up(parent, error.what());
    }
  };
}

/// Returns the node's handle of the value, made if there is none. Handles of a value have one owner, the first that was
/// named, whatever a later message says. REQUIRES: the mutex is held. The caller counts the hold for which it stands.
std::shared_ptr<RRefHandle> References::State::handle_for(const RRefId& rref, const NodeLife& owner,
                                                          const std::string& type, RRefOrigin origin) {
  const auto [known, added] = handles.try_emplace(rref);  // first: a handle destroyed here would need the mutex
  if (auto handle = known->second.lock()) return handle;
  const NodeLife* const first = table.owner(rref);
  const NodeLife& one = first == nullptr ? owner : *first;
  try {
    auto handle = std::make_shared<RRefHandle>(node.weak_from_this(), rref, one, type, std::move(origin));
    known->second = handle;
    return handle;
  } catch (const std::bad_alloc&) {
    if (added) handles.erase(known);
    throw;
  }
}

/// Makes this node, unless it has stopped, the owner of a new value that `handle` holds.
void References::State::begin_held(RRefHandle& handle) {
  const RRefOwnerActor owner = owners.begin(handle.id());
  if (!owner) return;
  try {
    node.host().send(owner, OwnerHeld{});
  } catch (const std::bad_alloc&) {  // nothing would end it
    static_cast<void>(owners.end(handle.id()));
    throw;
  }
  handle.add_hold();
}

/// REQUIRES: the mutex is held.
void References::State::look_again(const RRefId& rref, const NodeLife& life, RRefNotices& notices) {
  const auto why = node.lives().why_over(life);
  if (!why) return;
  for (RRefNotice& notice : table.handle_down(rref, life, *why)) notices.push_back(std::move(notice));
}

RRefOwnerActor References::State::spawn_owner(const RRefId& rref) {
  const ActorHost::Lost lost = [this, rref](const Error& why) {
    spdlog::error("[{}] {}: {} is lost", node.name(), why.text(), rref.text());
    owners.end(rref);
  };
  return node.host().spawn("the owner of a value", lost, rref_owner_actor, &node, rref,
                           [this, rref] { owners.end(rref); });
}

Error References::State::revoked(const RRefId& rref) const {
  Error error = node.error(ErrorCode::ref_revoked, node.name(), "rref " + rref.text(), "the value has been released");
  error.execution = Execution::never;
  return error;
}

References::References(NodeCore& node) : state_(std::make_unique<State>(node)) {}

References::~References() = default;

msg::RRefHandout References::hand_out(const std::shared_ptr<RRefHandle>& handle, const NodeLife& to) {
  msg::RRefHandout handout{handle->id(),  {}, handle->owner().name, handle->owner().incarnation, state_->self.name,
                           handle->type()};
  if (handle->owner() == state_->self) {
    {
      std::lock_guard lock(state_->mutex);
      handout.fork = state_->table.next_fork();
    }
    // A message to a life that is not up is not sent. The owner checks the life again once it counts the fork.
    if (to != state_->self && !state_->node.lives().is_up(to)) return handout;
    state_->make_room(to);
    auto token = state_->node.accounts().forks.take(to);
    if (!token) throw EncodeError(token.error().code, token.error().message);
    state_->tell_owner(handle->id(), OwnerHandedOut{handout.fork, to, std::move(token).value()});
    return handout;
  }
  if (const auto why = state_->node.lives().why_over(to)) throw EncodeError(why->code, why->text());
  RRefNotices notices;
  try {
    std::lock_guard lock(state_->mutex);
    auto fork = state_->table.hand_out(handle->id(), to);
    if (!fork) throw EncodeError(fork.error().code, fork.error().text());
    handout.fork = std::move(fork).value();
    state_->look_again(handle->id(), to, notices);
  } catch (const std::bad_alloc&) {
    take_back(handout);
    throw;
  }
  state_->send(notices);
  return handout;
}

void References::take_back(const msg::RRefHandout& handout) noexcept try {
  if (handout.owner == state_->self.name)
    return static_cast<void>(state_->tell_owner(handout.rref, OwnerHandOutUndone{handout.fork}));
  RRefNotices notices;
  {
    std::lock_guard lock(state_->mutex);
    notices = state_->table.undo(handout.rref, handout.fork);
  }
  state_->send(notices);
} catch (...) {
  state_->node.fail(failure_of_current_exception("a reference"));
}

std::vector<std::shared_ptr<RRefHandle>> References::received(std::span<const msg::RRefHandout> handouts,
                                                              const NodeName& from) try {
  std::vector<std::shared_ptr<RRefHandle>> handles;  // destroyed after the lock is released
  if (handouts.empty()) return handles;
  const NodeLife parent = state_->node.membership().life_of(from);
  handles.reserve(handouts.size());
  RRefNotices notices;
  {
    std::lock_guard lock(state_->mutex);
    for (const msg::RRefHandout& handout : handouts) {
      handles.push_back(
          state_->handle_for(handout.rref, {handout.owner, handout.owner_incarnation}, handout.type, from));
      const NodeLife& owner = handles.back()->owner();
      if (owner == state_->self) continue;
      const OwnerMet met = state_->node.lives().has_met(owner) ? OwnerMet::yes : OwnerMet::not_yet;
      RRefNotices told = state_->table.received({handout.rref, handout.fork, owner}, parent, met);
      handles.back()->add_hold();
      std::move(told.begin(), told.end(), std::back_inserter(notices));
      state_->look_again(handout.rref, owner, notices);
    }
  }
  state_->send(notices);
  const auto acks = std::make_shared<ForkAcks>(handouts.size(), state_->acknowledge_to(parent));
  for (std::size_t i = 0; i < handouts.size(); ++i) {
    const auto& [rref, fork] = std::tie(handouts[i].rref, handouts[i].fork);
    if (handles[i]->owner() != state_->self) continue;
    if (state_->tell_owner(rref, parent, OwnerForkReturned{fork, acks})) {
      handles[i]->add_hold();
    } else {
      acks->add(rref, fork);
    }
  }
  return handles;
} catch (const std::bad_alloc&) {
  state_->node.fail(failure_of_current_exception("a reference"));
  throw;
}

std::shared_ptr<RRefHandle> References::created(const RRefId& rref, ForkId& fork, const NodeName& owner,
                                                const std::string& type, RRefOrigin origin) {
  const NodeLife life = state_->node.membership().life_of(owner);
  std::shared_ptr<RRefHandle> handle;
  RRefNotices notices;
  try {
    std::lock_guard lock(state_->mutex);
    handle = state_->handle_for(rref, life, type, std::move(origin));
    fork = life == state_->self ? state_->table.next_fork() : state_->table.create(rref, life);
    if (life != state_->self) {
      handle->add_hold();
      state_->look_again(rref, life, notices);
    }
  } catch (const std::bad_alloc&) {  // no call will create the value
    if (handle) creation_ended(*handle, fork, error_not_run(ErrorCode::resource_exhausted, "out of memory"));
    throw;
  }
  state_->send(notices);
  if (life == state_->self) state_->begin_held(*handle);
  return handle;
}

void References::creation_ended(RRefHandle& handle, const ForkId& fork, const Result<Unit>& result) noexcept try {
  if (handle.owner() == state_->self) {
    if (!result) state_->tell_owner(handle.id(), OwnerValue{std::make_shared<const Result<ValueBox>>(result.error())});
    return;
  }
  RRefNotices notices;
  {
    std::lock_guard lock(state_->mutex);
    if (result) {
      notices = state_->table.acknowledged(handle.id(), fork);
    } else if (result.error().execution == Execution::never) {
      notices = state_->table.creation_undone(handle.id(), result.error());
    } else {
      notices = state_->table.creation_failed(handle.id(), result.error());
    }
  }
  state_->send(notices);
  if (!result) handle.creation_failed();
} catch (...) {
  state_->node.fail(failure_of_current_exception("a reference"));
}

std::shared_ptr<RRefHandle> References::own(ValueBox value, const std::string& type, RRefOrigin origin,
                                            Sharing sharing) {
  const auto rref = state_->node.next_id<RRefId>();
  std::shared_ptr<RRefHandle> handle;
  {
    std::lock_guard lock(state_->mutex);
    handle = state_->handle_for(rref, state_->self, type, std::move(origin));
  }
  state_->begin_held(*handle);
  state_->tell_owner(rref, OwnerValue{std::make_shared<const Result<ValueBox>>(std::move(value)), sharing});
  return handle;
}

std::optional<Error> References::failure(const RRefHandle& handle) const {
  std::lock_guard lock(state_->mutex);
  return state_->table.failure(handle.id());
}

bool References::is_confirmed(const RRefHandle& handle) const {
  if (handle.owner() == state_->self) return true;
  std::lock_guard lock(state_->mutex);
  return state_->table.contains(handle.id()) && state_->table.state(handle.id()) == HandleState::confirmed;
}

void References::dropped(const RRefId& rref, const NodeLife& owner, std::size_t holds) {
  RRefNotices notices;
  {
    std::lock_guard lock(state_->mutex);
    if (const auto known = state_->handles.find(rref); known != state_->handles.end() && known->second.expired())
      state_->handles.erase(known);
    for (std::size_t i = 0; i < holds && owner != state_->self; ++i) {
      for (RRefNotice& notice : state_->table.dropped(rref)) notices.push_back(std::move(notice));
    }
  }
  state_->send(notices);
  if (owner != state_->self) return;
  for (std::size_t i = 0; i < holds; ++i) state_->tell_owner(rref, OwnerReleased{});
}

TurnId References::next_turn() { return {state_->next_turn.fetch_add(1, std::memory_order_relaxed)}; }

void References::withdraw(const RRefId& rref, TurnId turn) { state_->tell_owner(rref, UseWithdrawn{turn}); }

void References::use(const RRefId& rref, TurnId turn, UsePurpose purpose, UseHandler begin) {
  state_->use(rref, turn, std::move(purpose), std::nullopt,
              [begin = std::move(begin)](Result<ValueBox> value, std::uint64_t, std::shared_ptr<ValueUse> use) {
                begin(std::move(value), std::move(use));
              });
}

void References::copy(const RRefId& rref, TurnId turn, const NodeLife& watcher, CopyHandler begin) {
  state_->use(rref, turn, {UseKind::reads, "cached for " + watcher.name, watcher}, watcher, std::move(begin));
}

void References::changed(const Variable& variable, const std::shared_ptr<const WhenGone>& told) {
  for (const RRefId& rref : state_->copied.of(variable)) state_->tell_owner(rref, OwnerChanged{told});
}

CopiedVariables& References::copied_variables() { return state_->copied; }

void References::State::use(const RRefId& rref, TurnId turn, UsePurpose purpose, const std::optional<NodeLife>& watcher,
                            CopyHandler begin) {
  const auto told = [core = node.shared_from_this(), rref, turn, begin](const Result<ValueBox>& value,
                                                                        std::uint64_t version) {
    begin(value, version, value ? std::make_shared<ValueUse>(core, rref, turn) : nullptr);
  };
  const auto lost = [core = node.shared_from_this()](const auto& untold) {
    untold(core->error(ErrorCode::owner_died, core->name(), {}, "the owner of the value ended before the use began"),
           0);
  };
  const std::optional<NodeLife> asker = purpose.counted_for;
  if (asker) make_room(*asker);
  const auto entered = asker ? owners.enter(rref, *asker, node.accounts().owners) : owners.enter(rref);
  if (entered.refused) return begin(*entered.refused, 0, nullptr);
  if (!entered.actor) return begin(revoked(rref), 0, nullptr);
  node.host().send(entered.actor, UseArrived{turn, std::move(purpose), watcher,
                                             ToldOnce<const Result<ValueBox>&, std::uint64_t>(told, lost)});
  if (asker && node.lives().is_over(*asker))  // the owner may have missed the end of that life
    tell_owner(rref, OwnerPeersDown{std::make_shared<const std::vector<NodeLife>>(1, *asker)});
}

void References::value_of(const RRefId& rref, const NodeLife& asker, std::function<void(Result<ValueBox>)> done) {
  use(rref, UsePurpose(UseKind::looks, {}, asker),
      [done = std::move(done)](Result<ValueBox> value, const std::shared_ptr<ValueUse>&) { done(std::move(value)); });
}

std::optional<Error> References::begin_value(const RRefId& rref, const ForkId& fork, const NodeLife& creator) {
  State& state = *state_;
  state.make_room(creator);
  auto token = state.node.accounts().forks.take(creator);
  const auto refused =
      token ? state.owners.enter(rref, creator, state.node.accounts().owners).refused : std::optional(token.error());
  if (creator != state.self) {
    state.tell_owner(rref, creator,
                     OwnerCreated{fork, creator, refused ? PeerQuota::Token() : std::move(token).value()});
  }
  return refused;
}

void References::set_value(const RRefId& rref, Result<ValueBox> value, Sharing sharing) {
  state_->tell_owner(rref, OwnerValue{std::make_shared<const Result<ValueBox>>(std::move(value)), sharing});
}

void References::refuse_value(const RRefId& rref, const ForkId& fork, const NodeLife& creator, const Error& why) {
  set_value(rref, why);
  if (creator != state_->self) state_->tell_owner(rref, OwnerDeleted{fork, creator});
}

/// Returns whether the sender is the creator and this node the owner: a holder gets the message from the value's owner.
bool References::State::is_owner_of(const msg::RRefRevoked& revoked, const NodeLife& from) const {
  std::lock_guard lock(mutex);
  return revoked.rref.creator == from.name && revoked.rref.incarnation == from.incarnation.low &&
         !table.contains(revoked.rref);
}

/// As a refused creating call: present and later holders of handles get the error.
void References::State::never_created(const msg::RRefRevoked& revoked, const NodeLife& creator) {
  tell_owner(revoked.rref, creator, OwnerCreated{revoked.fork, creator});
  node.references().refuse_value(revoked.rref, revoked.fork, creator, revoked.error);
}

void References::handle(const NodeLife& from, const msg::RRefForked& forked) {
  State& state = *state_;
  state.make_room(from);
  const auto entered = state.owners.enter(forked.rref, from, state.node.accounts().owners);
  if (entered.actor) return state.node.host().send(entered.actor, OwnerForked{forked.fork, from, forked.parent});
  state.node.notify(forked.parent, "references", msg::RRefForkAck{{{forked.rref, forked.fork}}}, Haste::rides);
  state.node.notify(from, "references",
                    msg::RRefRevoked{forked.rref, forked.fork, entered.refused.value_or(state.revoked(forked.rref))});
}

void References::handle(const NodeLife& from, const msg::RRefDeleted& deleted) {
  state_->releases.add({from, deleted.rref, deleted.fork}, state_->node.clock().now());
}

/// What peers have given back does not count when one takes more.
void References::State::make_room(const NodeLife& peer) {
  PeerAccounts& accounts = node.accounts();
  if (accounts.owners.is_half_used(peer) || accounts.forks.is_half_used(peer)) releases.tell_all();
}

/// Any thread: a control message that is lost ends the node.
void References::State::tell_released(const ReleaseQueue::Release& release) noexcept try {
  if (node.lives().is_over(release.holder)) return;  // its owners are told of that
  tell_owner(release.rref, release.holder, OwnerDeleted{release.fork, release.holder});
} catch (...) {
  node.fail(failure_of_current_exception("release"));
}

void References::handle(const NodeLife& from, const msg::RRefForkAck& known) {
  if (known.forks.size() > msg::kForkAcksMax) {
    return state_->node.give_up(from, "it acknowledges more handles at once than a node does");
  }
  RRefNotices notices;
  {
    std::lock_guard lock(state_->mutex);
    for (const auto& [rref, fork] : known.forks) {
      if (!state_->table.may_acknowledge(rref, fork, from)) continue;
      RRefNotices told = state_->table.acknowledged(rref, fork);
      std::move(told.begin(), told.end(), std::back_inserter(notices));
    }
  }
  state_->send(notices);
}

void References::handle(const NodeLife& from, const msg::RRefRevoked& revoked) {
  if (state_->is_owner_of(revoked, from)) return state_->never_created(revoked, from);
  RRefNotices notices;
  {
    std::lock_guard lock(state_->mutex);
    if (!state_->table.is_owner(revoked.rref, from)) return;
    notices = state_->table.revoked(revoked.rref, revoked.fork, revoked.error);
  }
  state_->send(notices);
}

void References::handle(const NodeLife& from, const msg::RRefChanged& changed) {
  std::shared_ptr<RRefHandle> handle;
  {
    std::lock_guard lock(state_->mutex);
    if (const auto known = state_->handles.find(changed.rref); known != state_->handles.end())
      handle = known->second.lock();
  }
  if (handle && handle->owner() == from) handle->copies().changed(changed.version);
}

bool References::forget(const RRefId& rref, std::uint64_t handled) { return state_->owners.forget(rref, handled); }

void References::peer_up(const Peer& peer) {
  RRefNotices notices;
  {
    std::lock_guard lock(state_->mutex);
    notices = state_->table.node_up(life_of(peer));
  }
  state_->send(notices);
}

void References::peer_down(const Peer& peer, const Error& why) {
  RRefNotices notices;
  {
    std::lock_guard lock(state_->mutex);
    notices = state_->table.node_down(life_of(peer), why);
  }
  state_->send(notices);
  state_->owners.creator_gone(life_of(peer));
  state_->deaths.add(life_of(peer));
}

// A pool that has stopped refuses the job: then the value is destroyed here. Without memory for a job, too: the end of
// a value must not fail.
void References::discard(const RRefId& rref, ValueEnd end, std::shared_ptr<const void> value) noexcept {
  if (!value) return;
  try {
    switch (end) {
      case ValueEnd::anywhere: return;
      case ValueEnd::together: return state_->discards.add(std::move(value));
      case ValueEnd::alone: return destroy_alone(state_->node.executor(), "drop " + rref.text(), std::move(value));
    }
  } catch (const std::exception&) {
  }
}

PublishedValues& References::published() { return state_->published; }

void References::stop(const Error& why) {
  state_->published.stop(why);
  state_->owners.refuse(why);
  for (const RRefOwnerActor& owner : state_->owners.all()) state_->node.host().send(owner, StopOwner{why});
}

std::vector<std::string> References::held() const {
  std::vector<std::string> lines;
  std::vector<std::shared_ptr<RRefHandle>> handles;  // destroyed after the lock is released
  {
    std::lock_guard lock(state_->mutex);
    for (const auto& [rref, known] : state_->handles) handles.push_back(known.lock());
  }
  for (const auto& handle : handles) {
    if (handle && handle->owner() != state_->self)
      lines.push_back(fmt::format("{}, {}", handle->text(), handle->origin()));
  }
  return lines;
}

std::size_t References::owned_values() const { return state_->owners.size(); }
std::size_t References::handles() const {
  std::lock_guard lock(state_->mutex);
  return state_->handles.size();
}

std::size_t References::forks() const {
  std::lock_guard lock(state_->mutex);
  return state_->table.size();
}

std::size_t References::unconfirmed_forks() const {
  std::lock_guard lock(state_->mutex);
  return state_->table.unconfirmed_count();
}

void References::list_users(const Query<ValueInUse>::ReplySlot& slot) const {
  for (const RRefOwnerActor& owner : state_->owners.all()) state_->node.host().send(owner, ListUsers{slot});
}

ValueUse::~ValueUse() {
  try {
    node_->references().state_->tell_owner(rref_, UseEnded{turn_});
  } catch (const std::bad_alloc&) {  // its owner would count the use for ever
    node_->fail(failure_of_current_exception("a use of a value"));
  }
}

void ValueUse::give_up_turn() { node_->references().state_->tell_owner(rref_, UseSuspended{turn_}); }
void ValueUse::leave_turn() { node_->references().state_->tell_owner(rref_, UseSuspended{turn_, true}); }

void ValueUse::ask_for_turn(std::function<void()> granted, TurnOrder order) {
  auto when_granted = std::make_shared<const WhenGone>(std::move(granted));
  node_->references().state_->tell_owner(rref_, UseResumed{turn_, std::move(when_granted), order});
}

void ValueUse::run_without_turn(BlockingHook* hook, const std::function<void()>& part) {
  const auto granted = std::make_shared<WaitPoint>();  // first what may fail
  std::optional<Prepared<UseResumed>> request(
      std::in_place, UseResumed{turn_, std::make_shared<const WhenGone>([granted] { granted->signal(); })});
  give_up_turn();
  part();
  References::State& state = *node_->references().state_;
  if (const auto owner = state.owners.find(rref_)) state.node.host().send_prepared(owner, *std::move(request));
  request.reset();  // if the owner is gone, the end of the request grants the turn
  static_cast<void>(hook != nullptr ? hook->wait(*granted, std::nullopt) : granted->wait_here(std::nullopt));
}

}  // namespace troupe::detail

#include "actors/membership/membership.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "actors/core/guarded.h"
#include "actors/core/lives.h"
#include "actors/membership/audit_heads.h"
#include "actors/membership/membership_actor.h"
#include "messages/did_you_mean.h"

namespace troupe::detail {

struct Membership::State {
  explicit State(NodeCore& n) : node(n), heads(n.self()) {}

  [[nodiscard]] FutureHome home() const { return node.future_home(); }

  /// Returns the members that are up, for error texts.
  [[nodiscard]] std::string present() const;
  /// The other nodes that are up, or "no other node".
  [[nodiscard]] std::string others() const;

  [[nodiscard]] bool is_here(const NodeName& name) const { return name == node.name() || node.lives().up(name); }

  /// Forgets the place of a member that is gone and whose rank another has. REQUIRES: the mutex is held.
  void forget_if_replaced(const NodeName& name);

  NodeCore& node;
  MembershipActor actor;
  mutable std::mutex mutex;
  std::map<NodeName, msg::Member> known;      // guarded by mutex; and former members whose ranks are free
  std::map<std::uint32_t, NodeName> by_rank;  // guarded by mutex
  std::vector<std::function<void(const Peer&, const Error&)>> down_handlers;  // guarded by mutex
  bool handlers_are_dropped = false;                                          // guarded by mutex
  std::optional<Error> declared_dead;                                         // guarded by mutex
  std::optional<Error> seed_refusal;                                          // guarded by mutex; the last one
  AuditHeads heads;                                                           // guarded by mutex
  std::function<void(const NodeName&, const msg::AuditHead&)> keep_head;      // guarded by mutex; empty: none are kept
};

std::string Membership::State::present() const {
  std::string names = node.name();
  for (const Peer& peer : node.lives().up()) names += ", " + peer.name;
  return names;
}

std::string Membership::State::others() const {
  std::string names;
  for (const Peer& peer : node.lives().up()) names += (names.empty() ? "" : ", ") + peer.name;
  return names.empty() ? "no other node" : names;
}

void Membership::State::forget_if_replaced(const NodeName& name) {
  const auto place = known.find(name);
  if (place == known.end() || is_here(name)) return;
  const auto holder = by_rank.find(place->second.rank);
  if (holder == by_rank.end() || holder->second == name) return;
  known.erase(place);
}

Error with_seeds(Error error, const std::vector<Seed>& seeds) {
  if (error.code != ErrorCode::timeout) return error;
  if (seeds.empty()) error.message += "; no seed given: this is the first node";
  for (const Seed& seed : seeds) error.message += "; seed: " + seed.address;
  return error;
}

Membership::Membership(NodeCore& node) : state_(std::make_unique<State>(node)) {
  const ActorHost::Lost lost = [&node](Error why) { node.fail(std::move(why)); };
  state_->actor = node.host().spawn("membership", lost, membership_actor, &node);
}

Membership::~Membership() = default;

void Membership::found(MemberPlace place) { state_->node.host().send(state_->actor, FoundCluster{std::move(place)}); }

void Membership::found_unless_in(MemberPlace place, std::size_t count) {
  state_->node.host().send(state_->actor, FoundCluster{std::move(place), count});
}

void Membership::join(std::vector<Seed> seeds, MemberPlace place) {
  state_->node.host().send(state_->actor, JoinCluster{std::move(seeds), std::move(place)});
}

void Membership::share_list(std::shared_ptr<SignedListHolder> holder) {
  state_->node.host().send(state_->actor, ShareList{std::move(holder)});
}

void Membership::certified(std::vector<std::byte> certificate) {
  state_->node.host().send(state_->actor, Certified{std::move(certificate)});
}

void Membership::list_changed() { state_->node.host().send(state_->actor, ListChanged{}); }

namespace {

/// Sends the actor a `Wait` and waits for its answer; at `due` makes the Error with `describe`, and cancels the wait.
template <class Wait, class Describe>
std::optional<Error> wait_until(NodeCore& node, const MembershipActor& actor, Wait wait, Future<void> done,
                                std::optional<TimePoint> due, Describe describe) {
  node.host().send(actor, std::move(wait));  // with the only promise: an ended actor drops it
  if (due && !done.get_for(*due - node.clock().now()) && done.cancel()) return describe();
  done.state().wait();
  const auto& result = done.state().result();
  if (result.ok()) return std::nullopt;
  if (!node.stopped()) return result.error();
  if (auto failure = node.failure()) return failure;
  return node.error(ErrorCode::shutting_down, node.name(), {}, fmt::format("node {} has shut down", node.name()));
}

}  // namespace

std::optional<Error> Membership::wait_for_members(std::size_t count, std::optional<TimePoint> due, Until until) {
  NodeCore& node = state_->node;
  Promise<void> reached(state_->home());
  Future<void> done = reached.future();
  return wait_until(node, state_->actor, WaitForMembers{count, until, std::move(reached)}, std::move(done), due, [&] {
    Error error = node.error(ErrorCode::timeout, node.name(), "join",
                             fmt::format("{} of {} nodes are there: {}", members().size(), count, state_->present()));
    error.hint = "are the others started, with the same seed address, and the same secret or list of members?";
    const std::lock_guard lock(state_->mutex);
    if (const auto& refusal = state_->seed_refusal; refusal && !state_->known.contains(node.name()))
      error.message += fmt::format("; {}: {}: {}", refusal->endpoint, troupe::name_of(refusal->code), refusal->message);
    return error;
  });
}

std::optional<Error> Membership::wait_for_agreement(std::optional<TimePoint> due) {
  NodeCore& node = state_->node;
  Promise<void> agreed(state_->home());
  Future<void> done = agreed.future();
  return wait_until(node, state_->actor, WaitForAgreement{std::move(agreed)}, std::move(done), due, [&] {
    return node.error(ErrorCode::timeout, node.name(), "shutdown",
                      fmt::format("not all have finished; still up: {}", state_->others()));
  });
}

void Membership::on_down(std::function<void(const Peer&, const Error&)> handler) {
  std::lock_guard lock(state_->mutex);
  if (!state_->handlers_are_dropped) state_->down_handlers.push_back(std::move(handler));
}

void Membership::drop_handlers() {
  std::vector<std::function<void(const Peer&, const Error&)>> handlers;  // end after the lock
  std::lock_guard lock(state_->mutex);
  state_->handlers_are_dropped = true;
  handlers.swap(state_->down_handlers);
}

void Membership::list_barriers(const Query<OpenBarrier>::ReplySlot& slot) const {
  state_->node.host().send(state_->actor, ListBarriers{slot});
}

bool Membership::is_up(const NodeName& peer) const { return state_->node.lives().up(peer).has_value(); }

std::optional<Peer> Membership::find(const NodeName& name) const {
  if (name == state_->node.name()) return state_->node.self();
  return state_->node.lives().up(name);
}

NodeLife Membership::life_of(const NodeName& name) const {
  const auto peer = find(name);
  return peer ? NodeLife{peer->name, peer->incarnation} : NodeLife{name, {}};
}

std::vector<Peer> Membership::members() const {
  std::vector<Peer> peers = state_->node.lives().up();
  peers.push_back(state_->node.self());
  std::sort(peers.begin(), peers.end(), [](const Peer& a, const Peer& b) { return a.name < b.name; });
  return peers;
}

const NodeName& Membership::self_name() const { return state_->node.name(); }

Result<WorkerInfo> Membership::info(const NodeName& name) const {
  if (const auto rank = rank_of(name)) return WorkerInfo{name, *rank};
  Error error = unknown(name, fmt::format("no member is called \"{}\"", name));
  const std::vector<WorkerInfo> all = infos();
  std::vector<std::string_view> names;
  for (const WorkerInfo& info : all) names.push_back(info.name);
  error.message += did_you_mean(name, names);
  return error;
}

Result<WorkerInfo> Membership::info(std::int64_t rank) const {
  if (rank >= 0 && rank <= std::numeric_limits<std::uint32_t>::max()) {
    const auto known = static_cast<std::uint32_t>(rank);
    if (auto name = name_of(known)) return WorkerInfo{std::move(*name), known};
  }
  return unknown({}, fmt::format("no member has rank {}", rank));
}

Error Membership::unknown(const NodeName& name, const std::string& what) const {
  std::vector<std::string> world;
  for (const WorkerInfo& info : infos()) world.push_back(info.text());
  Error error = state_->node.error(ErrorCode::not_joined, name, {},
                                   fmt::format("{}: the world is {}", what, fmt::join(world, ", ")));
  error.execution = Execution::never;
  return error;
}

std::vector<WorkerInfo> Membership::infos() const { return infos_of_role({}); }

std::vector<WorkerInfo> Membership::infos_of_role(std::string_view role) const {
  std::vector<WorkerInfo> infos;
  {
    std::lock_guard lock(state_->mutex);
    for (const auto& [name, member] : state_->known) {
      if (state_->is_here(name) && (role.empty() || member.role == role)) infos.push_back({name, member.rank});
    }
  }
  std::sort(infos.begin(), infos.end(), [](const WorkerInfo& a, const WorkerInfo& b) { return a.rank < b.rank; });
  return infos;
}

std::vector<std::string> Membership::roles() const {
  std::set<std::string> roles;
  std::lock_guard lock(state_->mutex);
  for (const auto& [name, member] : state_->known) {
    if (state_->is_here(name)) roles.insert(member.role);
  }
  return {roles.begin(), roles.end()};
}

std::optional<NodeName> Membership::name_of(std::uint32_t rank) const {
  std::lock_guard lock(state_->mutex);
  const auto known = state_->by_rank.find(rank);
  return known == state_->by_rank.end() ? std::nullopt : std::optional(known->second);
}

std::optional<std::uint32_t> Membership::rank_of(const NodeName& name) const {
  std::lock_guard lock(state_->mutex);
  const auto known = state_->known.find(name);
  return known == state_->known.end() ? std::nullopt : std::optional(known->second.rank);
}

void Membership::seed_refused(const Error& why) {
  const std::lock_guard lock(state_->mutex);
  state_->seed_refusal = why;
}

void Membership::learned(const msg::Member& member) {
  std::lock_guard lock(state_->mutex);
  const auto before = state_->known.find(member.name);
  if (before != state_->known.end()) {
    const auto at = state_->by_rank.find(before->second.rank);
    if (at != state_->by_rank.end() && at->second == member.name) state_->by_rank.erase(at);
  }
  state_->known[member.name] = member;
  const NodeName former = std::exchange(state_->by_rank[member.rank], member.name);
  state_->forget_if_replaced(former);
}

void Membership::forgotten(const msg::Member& member) {
  std::lock_guard lock(state_->mutex);
  const auto known = state_->known.find(member.name);
  if (known == state_->known.end() || known->second != member) return;
  const auto at = state_->by_rank.find(member.rank);
  if (at != state_->by_rank.end() && at->second == member.name) state_->by_rank.erase(at);
  state_->known.erase(known);
}

/// Tells this node's head to the peers that `witnesses` returns.
void Membership::tell_head(const std::function<std::vector<NodeLife>(AuditHeads&)>& witnesses) try {
  std::vector<NodeLife> peers;
  msg::AuditHead head;
  {
    std::lock_guard lock(state_->mutex);
    peers = witnesses(state_->heads);
    if (!peers.empty()) head = state_->heads.head();
  }
  for (const NodeLife& peer : peers) state_->node.notify(peer, "membership", head);
} catch (const std::bad_alloc&) {
  return;  // a later head says what this one would have said
}

void Membership::handle(const Delivery& delivery, const msg::AuditHead& head) try {
  std::function<void(const NodeName&, const msg::AuditHead&)> keep;
  {
    std::lock_guard lock(state_->mutex);
    if (!state_->keep_head) return;
    if (state_->heads.keeps({delivery.from, delivery.incarnation}, head, state_->node.clock().now()))
      keep = state_->keep_head;
  }
  if (keep) keep(delivery.from, head);
} catch (const std::bad_alloc&) {
  return;
}

void Membership::keep_heads(std::function<void(const NodeName& peer, const msg::AuditHead& head)> keep) {
  std::lock_guard lock(state_->mutex);
  state_->keep_head = std::move(keep);
}

void Membership::head_changed(const msg::AuditHead& head) {
  tell_head([&head](AuditHeads& heads) { return heads.changed(head); });
}

void Membership::handle(Delivery delivery) {
  state_->node.host().send(state_->actor, MemberMessage{std::move(delivery)});
}

void Membership::peer_up(const Peer& peer) {
  state_->node.host().send(state_->actor, PeerUp{peer});
  tell_head([&peer](AuditHeads& heads) { return heads.peer_up(peer); });
}

std::optional<Error> Membership::declared_dead() const {
  std::lock_guard lock(state_->mutex);
  return state_->declared_dead;
}

namespace {

/// A handler of on_down, and what it is told.
struct DownNews {
  std::weak_ptr<NodeCore> node;
  NodeName node_name;
  std::function<void(const Peer&, const Error&)> handler;
  Peer peer;
  Error why;

  [[nodiscard]] std::string label() const { return "on_down " + peer.name; }
  void log(const Error& failure) const { spdlog::error("[{}] {}: {}", node_name, label(), failure.text()); }
};

void tell_on_pool(const std::shared_ptr<const DownNews>& news);

/// The threads that wait for the peer that went down end their waits after this: the first that is free submits anew.
void tell_when_a_thread_is_free(const std::shared_ptr<const DownNews>& news, const Error& refusal) try {
  const auto node = news->node.lock();
  if (!node || refusal.code == ErrorCode::shutting_down) return;
  std::ignore = node->executor().submit({.label = news->label(),
                                         .run = [news] { tell_on_pool(news); },
                                         .refused = [news](const Error& why) { news->log(why); },
                                         .urgency = Urgency::at_once});
} catch (const std::bad_alloc&) {
  news->log(refusal);
}

void tell_on_pool(const std::shared_ptr<const DownNews>& news) {
  const auto node = news->node.lock();
  if (!node) return;
  const auto tell = [news] {
    try {
      news->handler(news->peer, news->why);
    } catch (...) {
      news->log(failure_of_current_exception("the handler"));
    }
  };
  node->run(news->label(), tell, [news](const Error& refusal) { tell_when_a_thread_is_free(news, refusal); });
}

}  // namespace

void Membership::peer_down(const Peer& peer, const Error& why) {
  std::vector<std::function<void(const Peer&, const Error&)>> handlers;
  {
    std::lock_guard lock(state_->mutex);
    if (why.code == ErrorCode::you_are_dead && !state_->declared_dead) state_->declared_dead = why;
    state_->forget_if_replaced(peer.name);
    handlers = state_->down_handlers;
  }
  NodeCore& node = state_->node;
  for (auto& handler : handlers)
    tell_on_pool(std::make_shared<const DownNews>(node.weak_from_this(), node.name(), std::move(handler), peer, why));
  state_->node.host().send(state_->actor, PeerDown{{peer.name, peer.incarnation}, why});
  tell_head([&peer](AuditHeads& heads) { return heads.peer_down({peer.name, peer.incarnation}); });
}

void Membership::connect_failed(const std::string& address, const Error& why) {
  state_->node.host().send(state_->actor, ConnectFailed{address, why});
}

void Membership::stop(const Error& why) { state_->node.host().send(state_->actor, StopMembership{why}); }

}  // namespace troupe::detail

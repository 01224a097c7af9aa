#include "actors/membership.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "actors/membership_actor.h"

namespace troupe::detail {

struct Membership::State {
  explicit State(NodeCore& n) : node(n) {}

  [[nodiscard]] FutureHome home() const { return node.future_home(); }

  /// Who is up, for error texts.
  [[nodiscard]] std::string present() const;

  NodeCore& node;
  MembershipActor actor;
  mutable std::mutex mutex;
  std::map<NodeName, Peer> up;                                                 // guarded by mutex
  std::vector<std::function<void(const Peer&, const Error&)>> down_handlers;  // guarded by mutex
};

std::string Membership::State::present() const {
  std::lock_guard lock(mutex);
  std::string names = node.name();
  for (const auto& [name, peer] : up) names += ", " + name;
  return names;
}

Membership::Membership(NodeCore& node) : state_(std::make_unique<State>(node)) {
  state_->actor = node.host().spawn(membership_actor, &node);
}

Membership::~Membership() = default;

void Membership::found(std::uint32_t world_size) { state_->node.host().send(state_->actor, FoundCluster{world_size}); }

void Membership::join(const std::string& seed, std::uint32_t world_size) {
  state_->node.host().send(state_->actor, JoinCluster{seed, world_size});
}

namespace {

/// Sends the actor a `Wait` and waits for its answer; at `due` makes the Error with `describe`.
template <class Wait, class Describe>
std::optional<Error> wait_until(NodeCore& node, const MembershipActor& actor, Wait wait, Future<void> done,
                                std::optional<TimePoint> due, Describe describe) {
  node.host().send(actor, std::move(wait));  // with the only promise: an actor that has ended drops it
  if (due && !done.get_for(*due - node.clock().now())) return describe();
  done.state().wait();
  const auto& result = done.state().result();
  if (result.ok()) return std::nullopt;
  if (!node.stopped()) return result.error();
  return node.error(ErrorCode::shutting_down, node.name(), {}, fmt::format("node {} has shut down", node.name()));
}

}  // namespace

std::optional<Error> Membership::wait_for_members(std::size_t count, std::optional<TimePoint> due) {
  NodeCore& node = state_->node;
  Promise<void> reached(state_->home());
  Future<void> done = reached.future();
  return wait_until(node, state_->actor, WaitForMembers{count, std::move(reached)}, std::move(done), due, [&] {
    Error error = node.error(ErrorCode::timeout, node.name(), "join", fmt::format("{} of {} nodes are there: {}",
                             members().size(), count, state_->present()));
    error.hint = "are the others started, with the same seed address and secret?";
    return error;
  });
}

std::optional<Error> Membership::wait_for_agreement(std::optional<TimePoint> due) {
  NodeCore& node = state_->node;
  Promise<void> agreed(state_->home());
  Future<void> done = agreed.future();
  return wait_until(node, state_->actor, WaitForAgreement{std::move(agreed)}, std::move(done), due, [&] {
    return node.error(ErrorCode::timeout, node.name(), "shutdown",
                      fmt::format("not all have finished; still up: {}", state_->present()));
  });
}

void Membership::on_down(std::function<void(const Peer&, const Error&)> handler) {
  std::lock_guard lock(state_->mutex);
  state_->down_handlers.push_back(std::move(handler));
}

bool Membership::is_up(const NodeName& peer) const {
  std::lock_guard lock(state_->mutex);
  return state_->up.contains(peer);
}

std::optional<Peer> Membership::find(const NodeName& name) const {
  if (name == state_->node.name()) return state_->node.self();
  std::lock_guard lock(state_->mutex);
  const auto known = state_->up.find(name);
  return known == state_->up.end() ? std::nullopt : std::optional(known->second);
}

std::vector<Peer> Membership::members() const {
  std::lock_guard lock(state_->mutex);
  std::vector<Peer> peers{state_->node.self()};
  for (const auto& [name, peer] : state_->up) peers.push_back(peer);
  std::sort(peers.begin(), peers.end(), [](const Peer& a, const Peer& b) { return a.name < b.name; });
  return peers;
}

void Membership::handle(Delivery delivery) { state_->node.host().send(state_->actor, MemberWord{std::move(delivery)}); }

void Membership::peer_up(const Peer& peer) {
  {
    std::lock_guard lock(state_->mutex);
    state_->up[peer.name] = peer;
  }
  state_->node.host().send(state_->actor, PeerCame{peer});
}

void Membership::peer_down(const Peer& peer, const Error& why) {
  std::vector<std::function<void(const Peer&, const Error&)>> handlers;
  {
    std::lock_guard lock(state_->mutex);
    const auto known = state_->up.find(peer.name);
    if (known != state_->up.end() && known->second.incarnation == peer.incarnation) state_->up.erase(known);
    handlers = state_->down_handlers;
  }
  for (auto& handler : handlers) {
    state_->node.run("on_down " + peer.name, [handler, peer, why] { handler(peer, why); }, [](const Error&) {});
  }
  state_->node.host().send(state_->actor, PeerWent{peer, why});
}

void Membership::connect_failed(const std::string& address, const Error& why) {
  state_->node.host().send(state_->actor, ConnectFailed{address, why});
}

void Membership::stop(const Error& why) {
  state_->node.host().send(state_->actor, StopMembership{why});
}

}  // namespace troupe::detail

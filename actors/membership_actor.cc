#include "actors/membership_actor.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "actors/references.h"

namespace troupe::detail {

void MembershipState::begin(NodeCore& node, caf::actor_addr self) {
  node_ = &node;
  self_ = std::move(self);
}

void MembershipState::found(std::uint32_t world_size) {
  founder_ = true;
  world_size_ = world_size;
  const Peer self = node_->self();
  members_[self.name] = {self.name, self.incarnation, self.address, 0};
}

void MembershipState::join(const std::string& seed, std::uint32_t world_size) {
  joining_ = true;
  seed_ = seed;
  world_size_ = world_size;
  node_->link().connect(seed);
}

void MembershipState::peer_came(const Peer& peer) {
  up_[peer.name] = peer;
  awaited_.erase(peer.name);
  if (joining_ && !asked_to_join_) {  // the first peer is the seed: nobody else knows us yet
    asked_to_join_ = true;
    const Peer self = node_->self();
    node_->request({peer.name, "membership", "join", std::nullopt,
                    msg::MemberJoin{self.name, self.incarnation, self.address, world_size_}},
                   [node = node_->weak_from_this(), self_address = self_, from = peer](Result<msg::AnyMessage> answer) {
                     const auto core = node.lock();
                     const auto actor = caf::actor_cast<caf::strong_actor_ptr>(self_address);
                     if (!core || !actor) return;
                     if (!answer) {
                       core->host().send(actor, JoinFailed{answer.error()});
                     } else {
                       core->host().send(actor, MemberWord{{from.name, from.incarnation, {}, std::move(answer).value(), {}, {}}});
                     }
                   });
  }
  if (ready_) tell_ready();
  settle_members();
}

void MembershipState::peer_went(const Peer& peer, const Error& why) {
  const auto known = up_.find(peer.name);
  if (known != up_.end() && known->second.incarnation == peer.incarnation) up_.erase(known);
  if (const auto member = members_.find(peer.name); founder_ && member != members_.end() &&
                                                    member->second.incarnation == peer.incarnation) {
    members_.erase(member);
  }
  for (const WaitForMembers& wait : std::exchange(member_waits_, {})) wait.reached.complete(why);
  agreement_.gone(peer.name);
  if (ready_) tell_ready();
  coordinate();
}

void MembershipState::connect_failed(const std::string& address, const Error& why) {
  if (world_size_ == 0 && address != seed_) {  // it was there when we were let in, and is gone
    std::erase_if(awaited_, [&](const auto& member) { return member.second == address; });
    return settle_members();
  }
  Error error = why;
  if (error.endpoint.empty()) error.endpoint = address;
  join_failed(std::move(error));
}

void MembershipState::join_failed(Error why) {
  why.operation = "join";
  for (const WaitForMembers& wait : std::exchange(member_waits_, {})) wait.reached.complete(why);
  if (joining_) join_failure_ = std::move(why);
}

void MembershipState::word(Delivery& delivery) {
  if (auto* join = std::get_if<msg::MemberJoin>(&delivery.message)) {
    admit(delivery, *join);
  } else if (const auto* list = std::get_if<msg::MemberList>(&delivery.message)) {
    admitted(*list);
  } else if (const auto* joined = std::get_if<msg::MemberJoined>(&delivery.message)) {
    learn(joined->member);
  } else if (std::get_if<msg::ShutdownReady>(&delivery.message) != nullptr) {
    agreement_.ready(delivery.from);
    coordinate();
  } else if (const auto* count = std::get_if<msg::ShutdownCount>(&delivery.message)) {
    const auto own = own_count();
    delivery.answer.answer(msg::ShutdownCounted{count->round, own.active, own.started});
  } else if (std::get_if<msg::ShutdownAgreed>(&delivery.message) != nullptr) {
    agree();
  } else if (delivery.answer.expected()) {
    delivery.answer.fail(node_->error(ErrorCode::protocol_violation, node_->name(), "membership", "not served by this node"));
  }
}

void MembershipState::admit(Delivery& delivery, const msg::MemberJoin& join) {
  const auto refuse = [&](ErrorCode code, std::string message) {
    delivery.answer.fail(node_->error(code, node_->name(), "join", std::move(message)));
  };
  if (!founder_) return refuse(ErrorCode::protocol_violation, fmt::format("{} is not the seed of this cluster", node_->name()));
  if (join.name != delivery.from || join.incarnation != delivery.incarnation) {
    return refuse(ErrorCode::protocol_violation, fmt::format("{} asked to join as \"{}\"", delivery.from, join.name));
  }
  if (world_size_ != 0 && join.world_size != world_size_) {
    return refuse(ErrorCode::bad_argument,
                  fmt::format("{} expects a world of {}, {} one of {}", join.name, join.world_size, node_->name(), world_size_));
  }
  if (world_size_ != 0 && !members_.contains(join.name) && members_.size() >= world_size_) {
    return refuse(ErrorCode::resource_exhausted, fmt::format("the world of {} is complete", world_size_));
  }
  msg::Member member{join.name, join.incarnation, join.address, static_cast<std::uint32_t>(members_.size())};
  ++epoch_;
  for (const auto& [who, other] : members_) {
    if (who != node_->name() && who != join.name) node_->notify(who, "membership", msg::MemberJoined{epoch_, member});
  }
  members_[join.name] = std::move(member);
  joiners_.push_back(delivery.answer);
  answer_joiners();
}

void MembershipState::answer_joiners() {
  if (members_.size() < world_size_) return;
  msg::MemberList list{epoch_, {}};
  for (const auto& [who, member] : members_) list.members.push_back(member);
  for (const ReturnAddress& joiner : std::exchange(joiners_, {})) joiner.answer(list);
}

void MembershipState::admitted(const msg::MemberList& list) {
  joining_ = false;
  for (const msg::Member& member : list.members) {
    if (member.name != node_->name() && !up_.contains(member.name)) awaited_[member.name] = member.address;
    learn(member);
  }
  settle_members();
}

void MembershipState::learn(const msg::Member& member) {
  if (member.name != node_->name() && !up_.contains(member.name)) node_->link().connect(member.address);
}

void MembershipState::wait_for_members(WaitForMembers& wait) {
  if (join_failure_) {
    wait.reached.complete(*join_failure_);
    return;
  }
  member_waits_.push_back(std::move(wait));
  settle_members();
}

void MembershipState::settle_members() {
  if (joining_ || !awaited_.empty()) return;
  const auto reached = [this](const WaitForMembers& wait) {
    if (up_.size() + 1 < wait.count) return false;
    wait.reached.complete(Unit{});
    return true;
  };
  std::erase_if(member_waits_, reached);
}

void MembershipState::wait_for_agreement(WaitForAgreement& wait) {
  if (agreed_) {
    wait.agreed.complete(Unit{});
    return;
  }
  agreement_waits_.push_back(std::move(wait.agreed));
  ready_ = true;
  tell_ready();
  coordinate();
}

void MembershipState::tell_ready() {
  agreement_.ready(node_->name());
  const NodeName coordinator = living().front();
  if (coordinator != node_->name()) {
    node_->notify(coordinator, "membership", msg::ShutdownReady{node_->name(), node_->incarnation()});
  }
}

void MembershipState::coordinate() {
  const auto members = living();
  if (!ready_ || agreed_ || members.front() != node_->name()) return;
  switch (agreement_.next(members)) {
    case ShutdownAgreement::Verdict::wait: return;
    case ShutdownAgreement::Verdict::count:
      // Not at once after an idle round: an answer that is just being handed to its callback is counted nowhere.
      return agreement_.round() == 1 ? count_all() : count_after(std::chrono::milliseconds(1));
    case ShutdownAgreement::Verdict::count_later: return count_after(std::chrono::milliseconds(20));
    case ShutdownAgreement::Verdict::agreed:
      for (const auto& [who, peer] : up_) node_->notify(who, "membership", msg::ShutdownAgreed{agreement_.round()});
      agree();
  }
}

void MembershipState::count_after(Duration pause) {
  node_->clock().at(node_->clock().now() + pause, [node = node_->weak_from_this(), self_address = self_] {
    const auto core = node.lock();
    const auto actor = caf::actor_cast<caf::strong_actor_ptr>(self_address);
    if (core && actor) core->host().send(actor, CountAgain{});
  });
}

void MembershipState::count_all() {
  const std::uint64_t round = agreement_.round();
  agreement_.counted(node_->name(), round, own_count());
  for (const auto& [who, peer] : up_) {
    ++counts_asked_;
    node_->request({who, "membership", "shutdown", std::nullopt, msg::ShutdownCount{round}},
                   [node = node_->weak_from_this(), self_address = self_, who = who](Result<msg::AnyMessage> answer) {
                     const auto core = node.lock();
                     const auto actor = caf::actor_cast<caf::strong_actor_ptr>(self_address);
                     if (!core || !actor || !answer) return;  // a member that died is taken out by peer_went
                     if (const auto* counted = std::get_if<msg::ShutdownCounted>(&answer.value())) {
                       core->host().send(actor, MemberCounted{who, counted->round, {counted->active, counted->started}});
                     }
                   });
  }
  coordinate();
}

void MembershipState::counted(const MemberCounted& count) {
  agreement_.counted(count.member, count.round, count.count);
  coordinate();
}

void MembershipState::agree() {
  agreed_ = true;
  node_->expect_departures();
  for (const Promise<void>& wait : std::exchange(agreement_waits_, {})) wait.complete(Unit{});
}

void MembershipState::stop(const Error& why) {
  for (const WaitForMembers& wait : std::exchange(member_waits_, {})) wait.reached.complete(why);
  for (const Promise<void>& wait : std::exchange(agreement_waits_, {})) wait.complete(why);
  for (const ReturnAddress& joiner : std::exchange(joiners_, {})) joiner.fail(why);
}

std::vector<NodeName> MembershipState::living() const {
  std::vector<NodeName> names{node_->name()};
  for (const auto& [who, peer] : up_) names.push_back(who);
  std::sort(names.begin(), names.end());
  return names;
}

ShutdownAgreement::Count MembershipState::own_count() const {
  const NodeCounts counts = node_->counts();
  return {counts.pending_requests + counts.served_calls + node_->executor().unfinished(), node_->requests_started() - counts_asked_};
}

MembershipActor::behavior_type membership_actor(MembershipActor::stateful_pointer<MembershipState> self, NodeCore* node) {
  self->state.begin(*node, self->address());
  return {
      [self](MemberWord& m) { self->state.word(m.delivery); },
      [self](const PeerCame& m) { self->state.peer_came(m.peer); },
      [self](const PeerWent& m) { self->state.peer_went(m.peer, m.why); },
      [self](const FoundCluster& m) { self->state.found(m.world_size); },
      [self](const JoinCluster& m) { self->state.join(m.seed, m.world_size); },
      [self](JoinFailed& m) { self->state.join_failed(std::move(m.why)); },
      [self](const ConnectFailed& m) { self->state.connect_failed(m.address, m.why); },
      [self](WaitForMembers& m) { self->state.wait_for_members(m); },
      [self](WaitForAgreement& m) { self->state.wait_for_agreement(m); },
      [self](const MemberCounted& m) { self->state.counted(m); },
      [self](const CountAgain&) { self->state.count_again(); },
      [self](const StopMembership& m) {
        self->state.stop(m.why);
        self->quit();
      },
  };
}

}  // namespace troupe::detail

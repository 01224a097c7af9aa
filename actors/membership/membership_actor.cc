#include "actors/membership/membership_actor.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <tuple>

#include "actors/core/lives.h"

namespace troupe::detail {
namespace {

/// The pause before members that were active, or whose counts failed, are asked again.
constexpr std::chrono::milliseconds kCountPause{20};

}  // namespace

void MembershipState::begin(NodeCore& node, caf::actor_addr self) {
  node_ = &node;
  self_ = std::move(self);
  barriers_.emplace(node.name());
  if (const auto rank = node.rank()) {
    const Peer own = node.self();
    set_own_place({own.name, own.incarnation, own.address, role_of_name(own.name), *rank, 0});
  }
}

void MembershipState::join(const std::vector<Seed>& seeds, const MemberPlace& place) {
  if (own_ || asked_to_join_) return;
  join_failure_.reset();
  wanted_ = place;
  for (const Seed& seed : seeds) {
    std::erase_if(seeds_, [&seed](const Seed& former) { return former.address == seed.address; });
    seeds_.push_back(seed);
    seed_failures_.erase(seed.address);
  }
  if (ask_one_that_is_up()) return;
  for (const Seed& seed : seeds) node_->link().connect_to(seed.name, seed.address);
}

bool MembershipState::is_seed(const std::string& address) const {
  return std::any_of(seeds_.begin(), seeds_.end(), [&](const Seed& seed) { return seed.address == address; });
}

/// Returns whether `peer` may be a seed that is known by another form of its address. If all lives of seeds are known,
/// so are the addresses that they give, and others may come who take this node for a founder.
bool MembershipState::may_be_seed(const Peer& peer) const {
  return is_seed(peer.address) || std::ranges::any_of(seeds_, [](const Seed& seed) { return !seed.life; });
}

/// Returns an error if the node reached at a seed's address is not the expected one.
std::optional<Error> MembershipState::stranger(const Peer& seed) const {
  const auto meant =
      std::find_if(seeds_.begin(), seeds_.end(), [&](const Seed& one) { return one.address == seed.address; });
  if (meant == seeds_.end() || !meant->life || *meant->life == seed.incarnation) return std::nullopt;
  Error error = node_->error(ErrorCode::peer_restarted, seed.name, "join",
                             "another life listens there than the one that was expected");
  error.endpoint = seed.address;
  return error;
}

/// `address`: the seed's. Seeds that are addresses of one node may fail with one endpoint, what the node says of
/// itself.
void MembershipState::note_seed_failure(const std::string& address, Error why) {
  if (why.code != ErrorCode::peer_unreachable) node_->membership().seed_refused(why);
  seed_failures_.insert_or_assign(address, std::move(why));
}

void MembershipState::seed_failed(const std::string& address, Error why) {
  note_seed_failure(address, std::move(why));
  if (!std::ranges::all_of(seeds_, [this](const Seed& seed) { return seed_failures_.contains(seed.address); })) return;
  // A refusal says more than a failed connection.
  const auto refused = std::ranges::find_if(
      seed_failures_, [](const auto& failure) { return failure.second.code != ErrorCode::peer_unreachable; });
  Error error = (refused == seed_failures_.end() ? seed_failures_.begin() : refused)->second;
  if (seed_failures_.size() > 1) {
    error.message.clear();
    for (const auto& [failed, one] : seed_failures_)
      error.message += fmt::format("{}{}: {}", error.message.empty() ? "" : "; ", failed, one.message);
  }
  join_failed(std::move(error));
}

bool MembershipState::is_up(const NodeLife& life) const {
  const auto known = up_.find(life.name);
  return known != up_.end() && known->second.incarnation == life.incarnation;
}

/// If the seed is gone, asks another one that is up, or comes up later. REQUIRES: `failed` is about the last one asked.
void MembershipState::join_failed(JoinFailed& failed) {
  if (is_up(failed.seed)) return join_failed(std::move(failed.why));
  asked_to_join_ = false;
  if (founds_among_ > 0) return found_or_join();
  const std::string address = failed.why.endpoint;
  note_seed_failure(address, failed.why);
  if (ask_one_that_is_up() || ask_one_that_is_in()) return;
  // The link is done with each other address of the seed that was asked: nothing is there any more, or its next life.
  for (const Seed& seed : seeds_) {
    if (!seed_failures_.contains(seed.address)) node_->link().connect_to(seed.name, seed.address);
  }
  seed_failed(address, std::move(failed.why));
}

/// Returns whether there was a seed to ask.
bool MembershipState::ask_one_that_is_up() {
  const auto is_meant = [this](const auto& peer) { return is_seed(peer.second.address) && !stranger(peer.second); };
  const auto found = std::ranges::find_if(up_, is_meant);
  if (found == up_.end()) return false;
  ask_to_join(found->first);
  return true;
}

/// Returns whether that life of the peer is in, as far as is known here.
bool MembershipState::is_member(const Peer& peer) const {
  const msg::Member* member = roster_.find(peer.name);
  return member != nullptr && member->incarnation == peer.incarnation;
}

/// Of a node whose seed is gone: asks a peer that says it is in (MB-4), as a seed known by another form of its address
/// does, of which the link has no news. Returns whether there was one to ask.
bool MembershipState::ask_one_that_is_in() {
  if (own_ || asked_to_join_ || asked_seed_.empty() || founded_ || join_failure_) return false;
  const auto found = std::ranges::find_if(up_, [this](const auto& peer) {
    return is_member(peer.second) && may_be_seed(peer.second) && !stranger(peer.second);
  });
  if (found == up_.end()) return false;
  ask_to_join(found->first);
  return true;
}

/// This node is a member from now on.
void MembershipState::set_own_place(const msg::Member& member) {
  own_ = member;
  learn(member);
  for (const auto& [who, peer] : up_) introduce_to(who);
}

void MembershipState::introduce_to(const NodeName& peer) {
  if (own_) node_->notify(peer, "membership", msg::MemberJoined{roster_.epoch(), *own_});
}

void MembershipState::peer_up(const Peer& peer) {
  up_[peer.name] = peer;
  awaited_.erase(peer.name);
  lost_.forget({peer.name, peer.incarnation});
  if (const msg::Member* known = roster_.find(peer.name); known != nullptr && known->incarnation == peer.incarnation)
    learn(msg::Member(*known));  // its epoch counts against former lives, as it has a session (LV-2)
  barriers_->came(peer.name);
  if (!seeds_.empty() && !asked_to_join_ && !founded_ && may_be_seed(peer)) {
    if (auto why = stranger(peer)) {
      seed_failed(peer.address, *std::move(why));
    } else {
      ask_to_join(peer.name);
    }
  }
  tell_list_to(peer.name);
  introduce_to(peer.name);
  if (ready_ && first_living() == peer.name) tell_ready();
  hear_namesake(peer.name);
  settle_members();
}

void MembershipState::ask_to_join(const NodeName& seed) {
  asked_to_join_ = true;
  asked_seed_ = seed;
  if (founds_among_ == 0) hear_early();  // they are refused: this node is no founder
  const Peer self = node_->self();
  const msg::MemberJoin join{self.name, self.incarnation, self.address, wanted_.role, wanted_.rank, wanted_.world_size};
  node_->request({seed, "membership", "join", std::nullopt, join},
                 [tell = to_self(), from = up_.at(seed)](Result<msg::AnyMessage> answer) {
                   if (!answer) return tell(JoinFailed{{from.name, from.incarnation}, answer.error()});
                   tell(MemberMessage{{from.name, from.incarnation, {}, std::move(answer).value(), {}, {}}});
                 });
}

void MembershipState::peer_down(const NodeLife& peer, const Error& why) {
  const auto known = up_.find(peer.name);
  if (known != up_.end() && known->second.incarnation == peer.incarnation) up_.erase(known);
  barriers_->gone(peer.name, why);
  list_news_.gone(peer);
  if (roster_.remove(peer.name, peer.incarnation)) {  // others may come and go before the world is complete
    fail_waits_to_be_in(why);
  }
  doubts_.erase(peer.name);
  hear_doubts();
  agreement_.gone(peer.name);
  hear_namesake(peer.name);
  // The peer was the first. Also once this node has agreed: the next one may not have heard the agreement.
  if (ready_ && peer.name < first_living()) tell_ready();
  coordinate();
}

void MembershipState::fail_waits_to_be_in(const Error& why) {
  std::erase_if(member_waits_, [&why](const WaitForMembers& wait) {
    if (wait.until == Membership::Until::they_are_up) return false;
    wait.reached.complete(why);
    return true;
  });
}

void MembershipState::connect_failed(const std::string& address, const Error& why) {
  Error error = why;
  if (error.endpoint.empty()) error.endpoint = address;
  decide_namesakes_at(address, error);
  not_connected(address, std::move(error));
}

void MembershipState::not_connected(const std::string& address, Error error) {
  if (is_seed(address) && founded_ && unreached_at(address).empty()) return;  // of a seed that this node has given up
  if (is_seed(address) && !asked_to_join_) return seed_failed(address, std::move(error));
  if (is_seed(address) && !own_) note_seed_failure(address, error);  // it counts if the seed that was asked dies
  const auto is_there = [&](const auto& member) { return member.second == address; };
  if ((own_ || is_seed(address)) && std::ranges::none_of(awaited_, is_there) && unreached_at(address).empty())
    return;  // this node joined through another seed, or a former seed's next life is not there yet
  const bool waits_for_key = note_keyless(address, error);
  const bool came_later = own_ && std::ranges::none_of(awaited_, is_there);
  if (wanted_.world_size == 0 || came_later) {
    // It was up when this node learned of it, and is gone, or its key is still to come.
    if (!waits_for_key) note_unreached(address, error);
    std::erase_if(awaited_, is_there);
    hear_doubts();
    settle_members();
  }
  connect_to_known();
  if (wanted_.world_size == 0 || waits_for_key) return;
  error.operation = "join";
  came_later ? fail_waits_to_be_in(error) : join_failed(std::move(error));
}

/// Notes the member that this node could not connect to because it does not know its key yet. Returns whether that is
/// why.
bool MembershipState::note_keyless(const std::string& address, const Error& why) {
  const msg::Member* member = why.code == ErrorCode::not_authorized ? roster_.find(why.peer) : nullptr;
  if (!list_ || member == nullptr || member->address != address) return false;
  lost_.has_no_key(*member);
  if (wanted_.world_size == 0) roster_.remove(why.peer, member->incarnation);
  return true;
}

/// Returns the members that are known to be at `address` and are not up.
std::vector<msg::Member> MembershipState::unreached_at(const std::string& address) const {
  std::vector<msg::Member> there = roster_.members();
  std::erase_if(there, [&](const msg::Member& member) {
    return member.address != address || member.name == node_->name() || up_.contains(member.name);
  });
  return there;
}

/// A member keeps its rank while this node tries to reach it.
void MembershipState::note_unreached(const std::string& address, const Error& why) {
  for (const msg::Member& member : unreached_at(address)) {
    if (lost_.was_not_reached(member, node_->clock().now()))
      spdlog::warn("[{}] has no connection to {}, which is a member: {}", node_->name(), member.name, why.text());
    if (!lost_.tries(member.name)) roster_.remove(member.name, member.incarnation);
  }
  connect_to_lost();
}

/// Two names at one address would displace each other: who shares its own is given up.
void MembershipState::connect_to_lost() {
  const TimePoint now = node_->clock().now();
  std::ignore = lost_wakes_.came(now);
  const std::vector<msg::Member> members = roster_.members();
  for (const msg::Member& lost : lost_.due(now)) {
    const auto took_its_place = [&lost](const msg::Member& member) {
      return member.address == lost.address && member.name != lost.name;
    };
    if (std::ranges::none_of(members, took_its_place)) {
      node_->link().connect_to(lost.name, lost.address);
    } else {
      lost_.forget({lost.name, lost.incarnation});
      roster_.remove(lost.name, lost.incarnation);
    }
  }
  const auto due = lost_.next_due();
  if (!due || !lost_wakes_.misses(*due)) return;
  const TimePoint at = lost_wakes_.time_for(*due, now);
  send_at(at, ConnectAgain{});
  lost_wakes_.requested(at);
}

void MembershipState::join_failed(Error why) {
  why.operation = "join";
  for (const WaitForMembers& wait : std::exchange(member_waits_, {})) wait.reached.complete(why);
  if (!own_) join_failure_ = std::move(why);
}

class MembershipState::WordTaker {
 public:
  WordTaker(MembershipState& state, Delivery& delivery) : state_(state), delivery_(delivery) {}

  void operator()(const msg::MemberJoin& join) { state_.admit(delivery_, join); }
  void operator()(const msg::MemberList& list) { state_.admitted(list); }

  void operator()(const msg::MemberJoined& joined) {
    const msg::Member& member = joined.member;
    if (NodeLife{member.name, member.incarnation} == NodeLife{delivery_.from, delivery_.incarnation}) {
      state_.learn_from_itself(member);
    } else if (state_.lets_in(delivery_.from)) {
      state_.learn(member);
    } else {
      return spdlog::debug("[{}] {} says that {} has joined, and does not let nodes in", node().name(), delivery_.from,
                           member.name);
    }
    state_.found_or_join();
    static_cast<void>(state_.ask_one_that_is_in());
    state_.settle_members();
  }

  void operator()(const msg::MemberLeft& /*left*/) {
    if (!delivery_.answer.expected()) return;
    refuse("membership", "not served by this node");
  }

  void operator()(const msg::ShutdownReady& /*ready*/) {
    state_.agreement_.ready(delivery_.from);
    state_.coordinate();
  }

  void operator()(const msg::ShutdownCount& count) {
    if (!state_.ends_the_cluster(delivery_.from)) {
      return refuse("shutdown",
                    fmt::format("{} does not end the cluster, {} does", delivery_.from, state_.living().front()));
    }
    const auto own = state_.own_count();
    delivery_.answer.answer(msg::ShutdownCounted{count.round, own.active, own.started});
  }

  void operator()(const msg::ShutdownAgreed& /*agreed*/) {
    if (!state_.ends_the_cluster(delivery_.from)) {
      return spdlog::warn("[{}] refused a ShutdownAgreed from {}: {} ends the cluster", node().name(), delivery_.from,
                          state_.living().front());
    }
    state_.agree();
  }

  void operator()(msg::BarrierEntered& entered) { state_.enter_meeting(delivery_, std::move(entered)); }
  void operator()(const msg::BarrierLeft& left) { state_.barriers_->left(delivery_.from, left.entry); }

  void operator()(const msg::SignedListKnown& known) {
    if (state_.up_.contains(delivery_.from))
      state_.list_news_.says({delivery_.from, delivery_.incarnation}, known.serial);
    state_.ask_for_list();
  }

  void operator()(const msg::SignedListFetch& /*fetch*/) { state_.give_list(delivery_); }
  void operator()(const msg::SignedCertificate& told) { state_.take_certificate(delivery_, told); }

 private:
  [[nodiscard]] NodeCore& node() const { return *state_.node_; }

  void refuse(std::string operation, std::string message) const {
    delivery_.answer.fail(
        node().error(ErrorCode::protocol_violation, node().name(), std::move(operation), std::move(message)));
  }

  MembershipState& state_;
  Delivery& delivery_;
};

void MembershipState::word(Delivery& delivery) { delivery.message.visit<MemberWords>(WordTaker(*this, delivery)); }

/// Whether `peer` may speak for newcomers: it is the longest-standing member, as far as is known here, or the seed that
/// this node asked. A true word that is refused for a moment, while the death of an older member is known to others
/// only, is made up for by the newcomer: it connects to every member and introduces itself.
bool MembershipState::lets_in(const NodeName& peer) const {
  return own_ ? longest_standing() == peer : asked_seed_ == peer;
}

/// Whether `peer` may count and end: its name is the first of the living ones, as far as is known here. Who is refused
/// because another is still thought to be alive counts again, or is seen to leave.
bool MembershipState::ends_the_cluster(const NodeName& peer) const { return first_living() == peer; }

void MembershipState::admitted(const msg::MemberList& list) {
  const std::vector<msg::Member> former = roster_.forget();
  for (const msg::Member& member : list.members) {
    if (member.name == node_->name()) continue;
    if (!up_.contains(member.name)) awaited_[member.name] = member.address;
    learn(member);
  }
  const auto own = std::find_if(list.members.begin(), list.members.end(), [this](const msg::Member& member) {
    return member.name == node_->name() && member.incarnation == node_->incarnation();
  });
  if (own == list.members.end()) {
    join_failed(node_->error(ErrorCode::protocol_violation, {}, "join", "let in, and not in the list of members"));
  } else {
    // A world of a given size lets its members in when it is complete. This node may be the next that lets others in.
    if (list.members.size() == wanted_.world_size) roster_.keep_to(wanted_.world_size);
    set_own_place(*own);
    hear_again(former);
    hear_early();
  }
  settle_members();
}

void MembershipState::enter_meeting(Delivery& delivery, msg::BarrierEntered entered) {
  Barriers::Answer answer;
  if (delivery.answer.expected()) {
    answer = [to = delivery.answer](Result<msg::BarrierPassed> passed) {
      passed ? to.answer(std::move(passed).value()) : to.fail(passed.error());
    };
  }
  watch_meetings(barriers_->enter(node_->clock().now(), delivery.from, std::move(entered), std::move(answer)));
}

void MembershipState::watch_meetings(std::optional<TimePoint> due) {
  if (!due || !barriers_wakes_.misses(*due)) return;
  const TimePoint at = barriers_wakes_.time_for(*due, node_->clock().now());
  send_at(at, BarriersDue{});
  barriers_wakes_.requested(at);
}

void MembershipState::barriers_due() {
  const TimePoint now = node_->clock().now();
  if (!barriers_wakes_.came(now)) return;
  barriers_->expire(now);
  watch_meetings(barriers_->next_due());
}

void MembershipState::list_barriers(const ListBarriers& question) const {
  for (OpenBarrier& barrier : barriers_->open(node_->clock().now())) question.slot.add(std::move(barrier));
}

void MembershipState::wait_for_members(WaitForMembers& wait) {
  if (join_failure_) {
    wait.reached.complete(*join_failure_);
    return;
  }
  // Those whose callers wait no longer.
  std::erase_if(member_waits_, [](const WaitForMembers& former) { return former.reached.future().ready(); });
  member_waits_.push_back(std::move(wait));
  settle_members();
}

void MembershipState::settle_members() {
  if (!own_) return;
  const auto too_few = [this](const WaitForMembers& wait) { return up_.size() + 1 < wait.count; };
  if (std::ranges::all_of(member_waits_, too_few)) return;  // as a rule: a cluster that starts has news of every member
  const auto is_in = [this](const auto& peer) { return is_member(peer.second); };
  const auto members = static_cast<std::size_t>(std::count_if(up_.begin(), up_.end(), is_in)) + 1;
  const auto reached = [&](const WaitForMembers& wait) {
    if (members < wait.count || (wait.until == Membership::Until::we_are_in && !awaited_.empty())) return false;
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
  std::erase_if(agreement_waits_, [](const Promise<void>& former) { return former.future().ready(); });
  agreement_waits_.push_back(std::move(wait.agreed));
  ready_ = true;
  tell_ready();
  coordinate();
}

void MembershipState::tell_ready() {
  agreement_.ready(node_->name());
  if (const NodeName& first = first_living(); first != node_->name())
    node_->notify(first, "membership", msg::ShutdownReady{node_->name(), node_->incarnation()});
}

void MembershipState::coordinate() {
  if (!ready_ || agreed_ || first_living() != node_->name() || agreement_.awaits_some_of(up_.size() + 1)) return;
  switch (agreement_.next(living())) {
    case ShutdownAgreement::Verdict::wait: return;
    case ShutdownAgreement::Verdict::count:
      // With a pause after an idle round: an answer that is being passed to its callback is not counted anywhere.
      return agreement_.round() == 1 ? count_all() : send_after(std::chrono::milliseconds(1), CountAgain{});
    case ShutdownAgreement::Verdict::count_later: return send_after(kCountPause, CountAgain{});
    case ShutdownAgreement::Verdict::agreed:
      for (const auto& [who, peer] : up_) node_->notify(who, "membership", msg::ShutdownAgreed{agreement_.round()});
      agree();
  }
}

void MembershipState::count_all() {
  agreement_.counted(node_->name(), agreement_.round(), own_count());
  for (const auto& [who, peer] : up_) ask_for_count(who);
  coordinate();
}

void MembershipState::ask_for_count(const NodeName& member) {
  const std::uint64_t round = agreement_.round();
  ++counts_asked_;
  node_->request({member, "membership", "shutdown", std::nullopt, msg::ShutdownCount{round}},
                 [tell = to_self(), member, round](Result<msg::AnyMessage> answer) {
                   const auto* counted = answer ? answer.value().get_if<msg::ShutdownCounted>() : nullptr;
                   if (counted == nullptr) return tell(CountRefused{member, round});
                   tell(MemberCounted{member, counted->round, {counted->active, counted->started}});
                 });
}

void MembershipState::count_refused(const CountRefused& refusal) {
  if (!up_.contains(refusal.member)) return;  // it died
  send_after(kCountPause, CountMember{refusal.member, refusal.round});
}

void MembershipState::count_member(const CountMember& again) {
  if (again.round == agreement_.round() && up_.contains(again.member) && !agreed_) ask_for_count(again.member);
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
  for (const auto& [who, newcomer] : std::exchange(namesakes_, {})) newcomer.answer.fail(why);
  barriers_->stop(why);
}

std::vector<NodeName> MembershipState::living() const {
  std::vector<NodeName> names{node_->name()};
  for (const auto& [who, peer] : up_) names.push_back(who);
  std::sort(names.begin(), names.end());
  return names;
}

const NodeName& MembershipState::first_living() const {
  return up_.empty() ? node_->name() : std::min(node_->name(), up_.begin()->first);
}

std::optional<NodeName> MembershipState::longest_standing() const {
  return roster_.coordinator([this](const NodeName& who) { return who == node_->name() || up_.contains(who); });
}

ShutdownAgreement::Count MembershipState::own_count() const {
  const NodeCounts counts = node_->counts();
  const std::size_t served = node_->served_calls().awaited();
  return {counts.pending_requests + served + counts.waiting_calls + node_->executor().unfinished(),
          node_->requests_started() - counts_asked_};
}

MembershipActor::behavior_type membership_actor(MembershipActor::stateful_pointer<MembershipState> self,
                                                NodeCore* node) {
  self->state.begin(*node, self->address());
  const auto failed = [node](Error why) { node->fail(std::move(why)); };
  return guarded<MembershipActor::behavior_type>(
      "membership", failed, [self](MemberMessage& m) { self->state.word(m.delivery); },
      [self](const PeerUp& m) { self->state.peer_up(m.peer); },
      [self](const PeerDown& m) { self->state.peer_down(m.life, m.why); },
      [self](const FoundCluster& m) { self->state.found(m); },
      [self](const JoinCluster& m) { self->state.join(m.seeds, m.place); },
      [self](JoinFailed& m) { self->state.join_failed(m); },
      [self](PassedOnFailed& m) { self->state.passed_on_failed(m); },
      [self](const ConnectFailed& m) { self->state.connect_failed(m.address, m.why); },
      [self](WaitForMembers& m) { self->state.wait_for_members(m); },
      [self](WaitForAgreement& m) { self->state.wait_for_agreement(m); },
      [self](const MemberCounted& m) { self->state.counted(m); },
      [self](const CountRefused& m) { self->state.count_refused(m); },
      [self](const CountMember& m) { self->state.count_member(m); },
      [self](const CountAgain&) { self->state.count_all(); },
      [self](const ConnectAgain&) { self->state.connect_to_lost(); },
      [self](const NamesakeDue& m) { self->state.namesake_due(m); },
      [self](const BarriersDue&) { self->state.barriers_due(); },
      [self](const ListBarriers& m) { self->state.list_barriers(m); },
      [self](const ShareList& m) { self->state.share_list(m.holder); },
      [self](const ListChanged&) { self->state.list_changed(); },
      [self](const Certified& m) { self->state.certified(m); },
      [self](const ListAnswered& m) { self->state.list_answered(m); },
      [self](const StopMembership& m) {
        self->quit();  // first: waiters are answered also if this throws
        self->state.stop(m.why);
      });
}

}  // namespace troupe::detail

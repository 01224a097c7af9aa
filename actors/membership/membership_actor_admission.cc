// How newcomers are let in: rules MB-2 and MB-3 of PROTOCOLS.md.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "actors/membership/membership_actor.h"

namespace troupe::detail {
namespace {

/// How many newcomers one peer may have passed on that are not up yet.
constexpr std::ptrdiff_t kUnmetMax = 256;

const msg::MemberJoin& newcomer_of(const Delivery& delivery) { return *delivery.message.get_if<msg::MemberJoin>(); }

}  // namespace

void MembershipState::admit(Delivery& delivery, const msg::MemberJoin& join) {
  const auto refuse = [&](ErrorCode code, std::string message) {
    delivery.answer.fail(node_->error(code, node_->name(), "join", std::move(message)));
  };
  if (!founded_ && !own_) {
    if (asked_to_join_ && founds_among_ == 0)
      return refuse(ErrorCode::protocol_violation, fmt::format("{} is no member itself yet", node_->name()));
    return keep_early(delivery);  // a node that listens may get requests before it founds, or asks a seed
  }
  const NodeName coordinator = roster_.coordinator(living()).value_or(node_->name());
  const bool passed_on = join.name != delivery.from || join.incarnation != delivery.incarnation;
  if (coordinator != node_->name()) {
    if (!passed_on) return pass_on(delivery, join, coordinator);
    return refuse(ErrorCode::protocol_violation,
                  fmt::format("{} does not let nodes in, {} does", node_->name(), coordinator));
  }
  if (passed_on && !is_up({join.name, join.incarnation})) return keep_unmet(delivery, join);
  if (const auto error = roster_.admit(join)) return refuse(error->code, error->message);
  joiners_.push_back(delivery.answer);
  if (const msg::Member* member = roster_.find(join.name)) {
    for (const auto& [who, peer] : up_) {
      if (who != join.name) node_->notify(who, "membership", msg::MemberJoined{roster_.epoch(), *member});
    }
    learn(*member);
  }
  answer_joiners();
}

void MembershipState::pass_on(Delivery& delivery, const msg::MemberJoin& join, const NodeName& coordinator) {
  const NodeLife to{coordinator, up_.at(coordinator).incarnation};
  node_->request({coordinator, "membership", "join", delivery.due, join},
                 [tell = to_self(), asked = delivery, to](Result<msg::AnyMessage> answer) {
                   if (answer) return asked.answer.answer(std::move(answer).value());
                   tell(PassedOnFailed{asked, to, answer.error()});
                 });
}

/// Whoever lets nodes in since `to` has died decides, if the newcomer is still there.
void MembershipState::passed_on_failed(PassedOnFailed& failed) {
  if (is_up(failed.to) || !is_up({failed.delivery.from, failed.delivery.incarnation}))
    return failed.delivery.answer.fail(std::move(failed.why));
  word(failed.delivery);
}

void MembershipState::answer_joiners() {
  if (!roster_.complete()) return;
  const msg::MemberList list{roster_.epoch(), roster_.members()};
  if (!own_) set_own_place(*roster_.find(node_->name()));
  for (const msg::Member& member : list.members) learn(member);
  for (const ReturnAddress& joiner : std::exchange(joiners_, {})) joiner.answer(list);
  settle_members();
}

/// MB-18. A newcomer has a place once it is seen, whatever is said of it. It may also have the name of a life that is
/// up: whether that lives on is seen then.
void MembershipState::keep_unmet(Delivery& delivery, const msg::MemberJoin& join) {
  std::erase_if(unmet_, [&](const Delivery& former) {
    if (former.from != delivery.from || newcomer_of(former).name != join.name) return false;
    former.answer.fail(node_->error(ErrorCode::name_in_use, node_->name(), "join",
                                    fmt::format("another newcomer has the name {}", join.name)));
    return true;
  });
  if (std::ranges::count(unmet_, delivery.from, &Delivery::from) >= kUnmetMax) {
    return delivery.answer.fail(
        node_->error(ErrorCode::resource_exhausted, node_->name(), "join",
                     fmt::format("{} has passed on {} newcomers that are not up here yet", delivery.from, kUnmetMax)));
  }
  unmet_.push_back(delivery);
  node_->link().connect_to(join.name, join.address);
}

void MembershipState::connect_to_unmet(const std::function<bool(const NodeName&)>& is_meant) {
  for (const Delivery& delivery : std::vector(unmet_)) {
    const msg::MemberJoin& join = newcomer_of(delivery);
    if (is_meant(join.name)) node_->link().connect_to(join.name, join.address);
  }
}

void MembershipState::hear_unmet(const Peer& newcomer) {
  for (Delivery& delivery : std::exchange(unmet_, {})) {
    const msg::MemberJoin& join = newcomer_of(delivery);
    if (join.name == newcomer.name && join.incarnation == newcomer.incarnation) {
      word(delivery);
    } else if (join.name != newcomer.name && join.address == newcomer.address) {
      delivery.answer.fail(node_->error(ErrorCode::name_in_use, node_->name(), "join",
                                        fmt::format("{} is at {}, not {}", newcomer.name, join.address, join.name)));
    } else {
      unmet_.push_back(std::move(delivery));
    }
  }
}

/// Others that may be there are looked for one after the other: the link has one connection to an address. Whose key is
/// not known yet waits for it.
void MembershipState::unmet_is_not_at(const std::string& address, Error why) {
  const auto is_there = [&](const Delivery& delivery) { return newcomer_of(delivery).address == address; };
  const auto found = std::ranges::find_if(unmet_, is_there);
  if (found == unmet_.end()) return;
  if (list_ && why.code == ErrorCode::not_authorized && !list_->knows(newcomer_of(*found).name)) return;
  why.operation = "join";
  found->answer.fail(std::move(why));
  unmet_.erase(found);
  if (const auto next = std::ranges::find_if(unmet_, is_there); next != unmet_.end())
    node_->link().connect_to(newcomer_of(*next).name, address);
}

void MembershipState::learn(const msg::Member& member) {
  if (!is_over(member) && roster_.learn(member)) note_place(member);
}

/// Whether another life of that member is up, or a later one is known here; ends the session of a former life.
bool MembershipState::is_over(const msg::Member& member) {
  const auto known = up_.find(member.name);
  if (known != up_.end() && known->second.incarnation != member.incarnation) return true;  // about another life
  if (node_->lives().let_in({member.name, member.incarnation}, member.epoch)) return false;
  if (known != up_.end()) {
    node_->link().disconnect(member.name, {ErrorCode::you_are_dead,
                                           fmt::format("a later life of {} is known to {}", member.name, node_->name()),
                                           member.incarnation});
  }
  return true;
}

void MembershipState::note_place(const msg::Member& member) {
  doubts_.erase(member.name);
  lost_.learned(member);
  node_->membership().learned(member);
  if (member.name != node_->name() && !up_.contains(member.name)) node_->link().connect_to(member.name, member.address);
}

/// MB-17. Whose rank another member has, as far as is known here, waits for that one's end.
void MembershipState::learn_from_itself(const msg::Member& member) {
  if (is_over(member)) return;
  const auto is_lost = [this](const NodeName& other) { return lost_.tries(other); };
  if (const auto place = roster_.learn_from_itself(member, node_->name(), living(), is_lost)) return note_place(*place);
  if (up_.contains(member.name)) doubts_.insert_or_assign(member.name, member);
}

void MembershipState::hear_doubts() {
  for (const auto& [who, member] : std::exchange(doubts_, {})) learn_from_itself(member);
}

/// What members said of themselves before this node was in.
void MembershipState::hear_again(const std::vector<msg::Member>& former) {
  for (const msg::Member& member : former) {
    learn_from_itself(member);
    if (const msg::Member* known = roster_.find(member.name); known == nullptr || known->rank != member.rank)
      node_->membership().forgotten(member);
  }
  hear_doubts();
}

}  // namespace troupe::detail

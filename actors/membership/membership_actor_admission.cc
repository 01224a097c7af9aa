// How newcomers are let in: rules MB-2 and MB-3 of PROTOCOLS.md.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "actors/membership/membership_actor.h"

namespace troupe::detail {

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
  const auto namesake = up_.find(join.name);
  if (namesake != up_.end() && namesake->second.incarnation != join.incarnation) return keep_namesake(delivery, join);
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

/// Another member has let in a node of that name, or has not seen its end yet. Whether it lives on is seen when the
/// newcomer is connected to. REQUIRES: another life of the newcomer's name is up.
void MembershipState::keep_namesake(Delivery& delivery, const msg::MemberJoin& join) {
  const auto former = namesakes_.find(join.name);
  if (former != namesakes_.end()) {
    former->second.answer.fail(node_->error(ErrorCode::name_in_use, node_->name(), "join",
                                            fmt::format("another newcomer has the name {}", join.name)));
  }
  namesakes_.insert_or_assign(join.name, delivery);
  node_->link().connect_to(join.name, join.address);
}

/// REQUIRES: no life of that name is up any more.
void MembershipState::hear_namesake(const NodeName& newcomer) {
  if (auto kept = namesakes_.extract(newcomer)) word(kept.mapped());
}

void MembershipState::refuse_namesake_at(const std::string& address, const Error& why) {
  std::erase_if(namesakes_, [&](const auto& kept) {
    const auto* join = kept.second.message.template get_if<msg::MemberJoin>();
    if (join->address != address) return false;
    Error error = why;
    error.operation = "join";
    kept.second.answer.fail(std::move(error));
    return true;
  });
}

void MembershipState::learn(const msg::Member& member) {
  if (another_is_up(member)) return;
  if (!node_->lives().let_in({member.name, member.incarnation}, member.epoch)) return end_former(member);
  if (roster_.learn(member)) note_place(member);
}

bool MembershipState::another_is_up(const msg::Member& member) const {
  const auto known = up_.find(member.name);
  return known != up_.end() && known->second.incarnation != member.incarnation;
}

/// Ends the session of a life, if it has one: a later one was let in.
void MembershipState::end_former(const msg::Member& life) {
  if (!is_up({life.name, life.incarnation})) return;
  node_->link().disconnect(
      life.name, {ErrorCode::you_are_dead, fmt::format("a later life of {} is known to {}", life.name, node_->name()),
                  life.incarnation});
}

void MembershipState::note_place(const msg::Member& member) {
  doubts_.erase(member.name);
  lost_.learned(member);
  node_->membership().learned(member);
  if (member.name != node_->name() && !up_.contains(member.name)) node_->link().connect_to(member.name, member.address);
}

/// MB-17. Whose rank another member has, as far as is known here, waits for that one's end. The epoch of such a word
/// does not count against the member's next life, which others let in.
void MembershipState::learn_from_itself(const msg::Member& member) {
  if (another_is_up(member)) return;
  if (!node_->lives().may_be_in({member.name, member.incarnation}, member.epoch)) return end_former(member);
  const auto is_lost = [this](const NodeName& other) { return lost_.tries(other); };
  if (const auto place = roster_.learn_from_itself(member, is_lost)) return note_place(*place);
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

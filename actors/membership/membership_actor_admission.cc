// How newcomers are let in: rules MB-2 and MB-3 of PROTOCOLS.md.
#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/membership/membership_actor.h"

namespace troupe::detail {
namespace {

/// How long a newcomer waits for another life of its name that was let in: longer than a link tries to reach that one.
constexpr std::chrono::seconds kAwaitedLimit{15};

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
  const NodeName coordinator = longest_standing().value_or(node_->name());
  const bool passed_on = join.name != delivery.from || join.incarnation != delivery.incarnation;
  const bool has_namesake = another_is_up({join.name, join.incarnation});
  if (coordinator != node_->name()) {
    if (!passed_on) return pass_on(delivery, join, coordinator);
    if (!has_namesake || coordinator != join.name) {
      return refuse(ErrorCode::protocol_violation,
                    fmt::format("{} does not let nodes in, {} does", node_->name(), coordinator));
    }
  }
  if (has_namesake) {  // of the coordinator's next life others may have seen the end of the former one first
    keep_namesake(delivery, join);
    return node_->link().connect_to(join.name, join.address);  // its link asks the other life
  }
  if (const msg::Member* awaited = awaited_namesake(join)) {
    keep_namesake(delivery, join);
    send_after(kAwaitedLimit, NamesakeDue{{join.name, join.incarnation}});
    return node_->link().connect_to(awaited->name, awaited->address);
  }
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
  for (const msg::Member& member : roster_.take_newcomers()) learn(member);
  for (const ReturnAddress& joiner : std::exchange(joiners_, {})) joiner.answer(list);
  settle_members();
}

/// Returns the other life of the newcomer's name that was let in, which this node has not tried to reach yet. Who has
/// the newcomer's address is its former life.
const msg::Member* MembershipState::awaited_namesake(const msg::MemberJoin& join) const {
  const msg::Member* let_in = roster_.find(join.name);
  if (!own_ || let_in == nullptr || let_in->incarnation == join.incarnation || let_in->address == join.address)
    return nullptr;
  const bool is_over = node_->lives().is_over({let_in->name, let_in->incarnation});  // it never comes up here
  return is_over || lost_.has(join.name) ? nullptr : let_in;
}

/// Another member has let in a node of that name, or has not seen its end yet; or this node has let it in, and does not
/// know yet whether it lives on.
void MembershipState::keep_namesake(Delivery& delivery, const msg::MemberJoin& join) {
  const auto former = namesakes_.find(join.name);
  if (former != namesakes_.end()) {
    former->second.answer.fail(node_->error(ErrorCode::name_in_use, node_->name(), "join",
                                            fmt::format("another newcomer has the name {}", join.name)));
  }
  namesakes_.insert_or_assign(join.name, delivery);
}

/// Decides anew about the newcomer of that name, if who has asked is still there. `not_reached`: the other life of its
/// name.
void MembershipState::hear_namesake(const NodeName& newcomer, const std::optional<msg::Member>& not_reached) {
  auto kept = namesakes_.extract(newcomer);
  if (!kept || !is_up({kept.mapped().from, kept.mapped().incarnation})) return;
  if (not_reached) lost_.was_not_reached(*not_reached, node_->clock().now());
  word(kept.mapped());
  if (not_reached) connect_to_lost();
}

/// This node could not connect to `address`. Refuses the newcomers there, and those that are in the way of another life
/// of their name, which has answered there. Lets in the other newcomers that wait for a life there.
void MembershipState::decide_namesakes_at(const std::string& address, const Error& why) {
  std::vector<msg::Member> not_reached;
  std::erase_if(namesakes_, [&](const auto& kept) {
    const auto* join = kept.second.message.template get_if<msg::MemberJoin>();
    bool is_refused = join->address == address;
    const msg::Member* other = roster_.find(join->name);
    if (!is_refused && !another_is_up({join->name, join->incarnation}) && other != nullptr &&
        other->address == address) {
      is_refused = why.code == ErrorCode::name_in_use && up_.contains(join->name);
      if (!is_refused) not_reached.push_back(*other);
    }
    if (!is_refused) return false;
    Error error = why;
    error.operation = "join";
    kept.second.answer.fail(std::move(error));
    return true;
  });
  for (const msg::Member& member : not_reached) hear_namesake(member.name, member);
}

/// The newcomer has waited for `kAwaitedLimit`: the link reports nothing where another node is up at the address of the
/// life that was let in.
void MembershipState::namesake_due(const NodeLife& newcomer) {
  const auto kept = namesakes_.find(newcomer.name);
  if (kept == namesakes_.end() || another_is_up(newcomer)) return;
  const auto* join = kept->second.message.get_if<msg::MemberJoin>();
  if (join->incarnation != newcomer.incarnation) return;
  const msg::Member* awaited = awaited_namesake(*join);
  hear_namesake(newcomer.name, awaited == nullptr ? std::nullopt : std::optional(*awaited));
}

void MembershipState::learn(const msg::Member& member) {
  if (another_is_up({member.name, member.incarnation})) return;
  if (!node_->lives().let_in({member.name, member.incarnation}, member.epoch)) return end_former(member);
  if (roster_.learn(member)) note_place(member);
}

bool MembershipState::another_is_up(const NodeLife& life) const {
  const auto known = up_.find(life.name);
  return known != up_.end() && known->second.incarnation != life.incarnation;
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
  if (another_is_up({member.name, member.incarnation})) return;
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

// The signed list of members: what members tell each other of it, and who is certified before a list has it.
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "actors/membership/membership_actor.h"

namespace troupe::detail {
namespace {

/// How long a peer may take to send its signed list, of up to 16 MB.
constexpr std::chrono::seconds kListLimit{30};

/// The pause before a peer is asked after one that did not answer.
constexpr std::chrono::seconds kListPause{1};

}  // namespace

void MembershipState::share_list(std::shared_ptr<SignedListHolder> holder) {
  list_ = std::move(holder);
  list_changed();
}

void MembershipState::list_changed() {
  const std::uint64_t serial = list_->serial();  // read once: threads of the pool take lists
  if (std::exchange(list_told_, serial) != serial) {
    for (const auto& [who, peer] : up_) tell_list_to(who);
  }
  connect_to_known();
  ask_for_list();
}

void MembershipState::tell_list_to(const NodeName& peer) {
  if (!list_) return;
  node_->notify(peer, "membership", msg::SignedListKnown{list_->serial()});
  for (std::vector<std::byte>& certificate : list_->certificates())
    node_->notify(peer, "membership", msg::SignedCertificate{std::move(certificate)});
}

void MembershipState::certified(const Certified& newcomer) {
  for (const auto& [who, peer] : up_) node_->notify(who, "membership", msg::SignedCertificate{newcomer.certificate});
  connect_to_known();
}

/// Connects to members that this node has heard of before their keys. Of two of which one does not know the other's
/// key, that one connects: the other is denied, and may give up.
void MembershipState::connect_to_known() {
  for (const msg::Member& member : lost_.take_known([this](const NodeName& who) { return list_->knows(who); }))
    learn(member);
}

// At once, on this actor: what the sender says next may be about the newcomer, and connects to it.
void MembershipState::take_certificate(const Delivery& delivery, const msg::SignedCertificate& told) {
  if (!list_) return;
  const auto taken = list_->take_certificate(told.bytes, delivery.from);
  if (!taken.ok() && taken.error().code == ErrorCode::bad_argument)
    node_->give_up({delivery.from, delivery.incarnation},
                   "it sent a certificate that the owner of the cluster has not signed");
  connect_to_known();
}

void MembershipState::give_list(const Delivery& delivery) const {
  if (list_) return delivery.answer.answer(msg::SignedList{list_->bytes()});
  delivery.answer.fail(
      node_->error(ErrorCode::bad_argument, node_->name(), "membership", "this node has no signed list of members"));
}

void MembershipState::ask_for_list() {
  const auto peer = list_ ? list_news_.next(list_->serial()) : std::nullopt;
  if (!peer) return;
  const auto tell = to_self();
  Request request{peer->name, "membership", "members", node_->clock().now() + kListLimit,
                  msg::SignedListFetch{list_->serial()}};
  request.life = peer->incarnation;
  const auto take = [node = node_->weak_from_this(), list = list_, from = peer->name,
                     tell](Result<msg::AnyMessage> answer) {
    const auto core = node.lock();
    auto* came = answer ? answer.value().get_if<msg::SignedList>() : nullptr;
    if (!core || came == nullptr) return tell(ListAnswered{});
    auto read = [list, from, tell, bytes = std::move(came->bytes)] {
      const auto serial = list->take(bytes, from);
      tell(ListAnswered{.came = true, .serial = serial.ok() ? std::optional(serial.value()) : std::nullopt});
    };
    static_cast<void>(core->executor().submit({.label = "a list of members is read",
                                               .run = std::move(read),
                                               .refused = [tell](const Error&) { tell(ListAnswered{}); }}));
  };
  node_->request(std::move(request), take);
}

void MembershipState::list_answered(const ListAnswered& answer) {
  if (answer.came) {
    list_news_.answered(answer.serial);
    return list_changed();
  }
  list_news_.unanswered();
  send_after(kListPause, ListChanged{});
}

}  // namespace troupe::detail

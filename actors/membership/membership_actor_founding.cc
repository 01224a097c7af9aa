// How a node becomes the first of its cluster, or finds that there is one: rule MB-16 of PROTOCOLS.md.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "actors/membership/membership_actor.h"

namespace troupe::detail {

void MembershipState::found(const FoundCluster& order) {
  if (own_ || asked_to_join_) return;  // a seed has answered after all
  join_failure_.reset();
  wanted_ = order.place;
  founds_among_ = order.among;
  founds_among_ == 0 ? found(wanted_) : found_or_join();
}

/// MB-16. Of a node that founds a cluster unless there is one.
void MembershipState::found_or_join() {
  if (founds_among_ == 0 || founded_ || own_ || asked_to_join_) return;
  const auto in = std::ranges::find_if(up_, [this](const auto& peer) { return is_member(peer.second); });
  if (in != up_.end()) return ask_to_join(in->first);
  if (early_.size() + 1 < founds_among_) return;
  const auto is_here = [this](const Delivery& delivery) { return is_up({delivery.from, delivery.incarnation}); };
  const auto newcomers = static_cast<std::size_t>(std::ranges::count_if(early_, is_here));
  if (newcomers + 1 >= founds_among_) found(wanted_);
}

/// Keeps one request of each name: a later one is of its next life, or of a peer that repeats itself.
void MembershipState::keep_early(Delivery& delivery) {
  const auto former = std::ranges::find(early_, delivery.from, &Delivery::from);
  if (former == early_.end()) {
    early_.push_back(std::move(delivery));
  } else {
    former->answer.fail(node_->error(ErrorCode::protocol_violation, node_->name(), "join",
                                     fmt::format("{} has asked again", delivery.from)));
    *former = std::move(delivery);
  }
  found_or_join();
}

void MembershipState::found(const MemberPlace& place) {
  const std::vector<msg::Member> former = roster_.forget();
  roster_.open(place.world_size);
  const Peer self = node_->self();
  const msg::MemberJoin own{self.name, self.incarnation, self.address, place.role, place.rank, place.world_size};
  if (const auto refused = roster_.admit(own)) return join_failed(*refused);
  founded_ = true;
  hear_again(former);
  answer_joiners();
  hear_early();
}

/// Answers the newcomers that have asked before this node could know what to answer, and are still there.
void MembershipState::hear_early() {
  for (Delivery& delivery : std::exchange(early_, {})) {
    if (is_up({delivery.from, delivery.incarnation})) word(delivery);
  }
}

}  // namespace troupe::detail

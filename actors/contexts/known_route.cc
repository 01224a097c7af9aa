#include "actors/contexts/known_route.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "actors/contexts/recv_tag.h"

namespace troupe::detail {
namespace {

auto ends_of(const msg::RouteLeg& leg) { return std::tie(leg.sender, leg.incarnation, leg.receiver); }

template <class Range, class Key = std::identity>
bool is_ascending(const Range& range, Key key = {}) {
  return std::ranges::adjacent_find(range, [&](const auto& a, const auto& b) { return !(key(a) < key(b)); }) ==
         range.end();
}

}  // namespace

void KnownRoute::add(const GradFn& vertex) { is_known_ = is_known_ && add_received(vertex); }

/// Returns false if a part is unknown.
bool KnownRoute::add_received(const GradFn& vertex) {
  const auto& received = vertex.received();
  if (!received) return true;
  if (received->too_many) return false;
  for (const GradFn* recv : received->recvs) {
    const RecvTag* tag = tag_of(static_cast<const RecvFn&>(*recv));
    // The SendFn is where the id was made; else the id cannot name that node.
    if (tag == nullptr || !tag->beyond || tag->context != context_ || tag->boundary.creator != tag->peer) return false;
    add_boundaries(tag->peer, tag->boundary.incarnation, self_, std::span(&tag->boundary.serial, 1));
    for (const msg::RouteLeg& leg : *tag->beyond)
      add_boundaries(leg.sender, leg.incarnation, leg.receiver, leg.serials);
  }
  return true;
}

void KnownRoute::add_boundaries(const NodeName& sender, std::uint64_t incarnation, const NodeName& receiver,
                                std::span<const std::uint64_t> serials) {
  const auto leg = std::ranges::find(legs_, std::tie(sender, incarnation, receiver), ends_of);
  if (leg == legs_.end()) {
    legs_.push_back({sender, incarnation, receiver, {serials.begin(), serials.end()}});
  } else {
    leg->serials.insert(leg->serials.end(), serials.begin(), serials.end());
  }
}

std::optional<msg::RouteLegs> KnownRoute::take() {
  if (!is_known_) return std::nullopt;
  std::ranges::sort(legs_, {}, ends_of);
  for (msg::RouteLeg& leg : legs_) {
    std::ranges::sort(leg.serials);
    const auto repeated = std::ranges::unique(leg.serials);
    leg.serials.erase(repeated.begin(), repeated.end());
  }
  if (msg::boundary_count(legs_) > max_) return std::nullopt;
  return std::move(legs_);
}

bool is_well_formed(const msg::RouteLegs& legs, std::size_t max) {
  return is_ascending(legs, ends_of) && msg::boundary_count(legs) <= max &&
         std::ranges::all_of(
             legs, [](const msg::RouteLeg& leg) { return !leg.serials.empty() && is_ascending(leg.serials); });
}

}  // namespace troupe::detail

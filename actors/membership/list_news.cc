#include "actors/membership/list_news.h"

#include <algorithm>
#include <utility>

namespace troupe::detail {

void ListNews::says(const NodeLife& peer, std::uint64_t serial) {
  if (!liars_.contains(peer)) said_[peer].serial = serial;
}

void ListNews::gone(const NodeLife& peer) {
  said_.erase(peer);
  liars_.erase(peer);
}

std::optional<NodeLife> ListNews::next(std::uint64_t own) {
  std::erase_if(said_, [own](const auto& claim) { return claim.second.serial <= own; });
  if (asked_ || said_.empty()) return std::nullopt;
  const auto [peer, claim] = *std::ranges::min_element(said_, [](const auto& one, const auto& other) {
    if (one.second.failures != other.second.failures) return one.second.failures < other.second.failures;
    return one.second.serial > other.second.serial;
  });
  asked_ = Asked{peer, claim.serial};
  return peer;
}

void ListNews::answered(std::optional<std::uint64_t> serial) {
  const auto asked = std::exchange(asked_, std::nullopt);
  if (!asked || (serial && *serial >= asked->said)) return;
  if (said_.erase(asked->peer) == 1) liars_.insert(asked->peer);
}

void ListNews::unanswered() {
  const auto asked = std::exchange(asked_, std::nullopt);
  const auto claim = asked ? said_.find(asked->peer) : said_.end();
  if (claim != said_.end()) ++claim->second.failures;
}

}  // namespace troupe::detail

#include "actors/core/peer_quota.h"

#include <utility>

#include <fmt/format.h>

namespace troupe::detail {

PeerQuota::PeerQuota(NodeName self, std::string_view what, std::string_view key, std::size_t max)
    : self_(std::move(self)), what_(what), key_(key), max_(max) {}

Result<PeerQuota::Token> PeerQuota::take(const NodeLife& peer) {
  if (peer.name == self_) return Token();
  std::unique_lock lock(table_->mutex);
  const auto known = table_->counts.find(peer);
  const std::size_t there = known == table_->counts.end() ? 0 : known->second;
  if (there < max_) {
    const auto at = known == table_->counts.end() ? table_->counts.emplace(peer, 0).first : known;
    ++at->second;
    lock.unlock();
    return token_of(at);
  }
  return Error{
      .code = ErrorCode::resource_exhausted,
      .message = fmt::format("{} has {} {} on {}, at most {} ({})", peer.name, there, what_, self_, max_, key_),
      .peer = self_,
      .execution = Execution::never};
}

PeerQuota::Counted PeerQuota::take_unrefused(const NodeLife& peer) {
  if (peer.name == self_) return {};
  std::unique_lock lock(table_->mutex);
  const auto at = table_->counts.try_emplace(peer, 0).first;
  const bool is_too_much = ++at->second > max_ + kUnrefusedMax;
  lock.unlock();
  return {token_of(at), is_too_much};
}

/// Returns the token of a counted thing. Called without the mutex: without memory, the count is given back here.
PeerQuota::Token PeerQuota::token_of(Counts::iterator at) const {
  const auto give_back = [table = table_, at](const NodeLife*) {
    const std::lock_guard lock(table->mutex);
    if (--at->second == 0) table->counts.erase(at);
  };
  return {&at->first, give_back};
}

bool PeerQuota::is_half_used(const NodeLife& peer) const {
  const std::lock_guard lock(table_->mutex);
  const auto known = table_->counts.find(peer);
  return known != table_->counts.end() && known->second >= (max_ + 1) / 2;
}

std::map<NodeName, std::size_t> PeerQuota::counts() const {
  std::map<NodeName, std::size_t> by_name;
  const std::lock_guard lock(table_->mutex);
  for (const auto& [life, count] : table_->counts) by_name[life.name] += count;
  return by_name;
}

}  // namespace troupe::detail

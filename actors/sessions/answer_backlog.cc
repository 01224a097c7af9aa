#include "actors/sessions/answer_backlog.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace troupe::detail {

bool AnswerBacklog::keep(const NodeLife& peer, Begin& begin) {
  const std::lock_guard lock(mutex_);
  const auto found = peers_.find(peer);
  if (found == peers_.end() || (found->second.bytes <= bytes_max_ && found->second.kept.empty())) return false;
  found->second.kept.push_back(std::move(begin));
  return true;
}

void AnswerBacklog::sent(const NodeLife& peer, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  peers_[peer].bytes += bytes;
}

std::vector<AnswerBacklog::Begin> AnswerBacklog::taken(const NodeLife& peer, std::size_t bytes) {
  std::vector<Begin> ready;
  const std::lock_guard lock(mutex_);
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return ready;
  Peer& state = found->second;
  state.bytes -= std::min(bytes, state.bytes);
  if (state.bytes <= bytes_max_ && !state.kept.empty()) {
    // One at a time while others wait: the size of its answer is unknown.
    const bool all = state.bytes == 0;
    const std::size_t count = all ? state.kept.size() : 1;
    const auto end = std::next(state.kept.begin(), static_cast<std::ptrdiff_t>(count));
    ready.assign(std::make_move_iterator(state.kept.begin()), std::make_move_iterator(end));
    state.kept.erase(state.kept.begin(), end);
  }
  if (state.bytes == 0 && state.kept.empty()) peers_.erase(found);
  return ready;
}

std::map<NodeLife, std::size_t> AnswerBacklog::bytes() const {
  std::map<NodeLife, std::size_t> by_peer;
  const std::lock_guard lock(mutex_);
  for (const auto& [life, peer] : peers_) by_peer.emplace(life, peer.bytes);
  return by_peer;
}

std::vector<AnswerBacklog::Begin> AnswerBacklog::gone(const NodeLife& peer) {
  const std::lock_guard lock(mutex_);
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return {};
  std::vector<Begin> kept(std::make_move_iterator(found->second.kept.begin()),
                          std::make_move_iterator(found->second.kept.end()));
  peers_.erase(found);
  return kept;
}

std::vector<AnswerBacklog::Begin> AnswerBacklog::stop() {
  std::vector<Begin> kept;
  const std::lock_guard lock(mutex_);
  for (auto& [life, peer] : peers_) std::ranges::move(peer.kept, std::back_inserter(kept));
  peers_.clear();
  return kept;
}

}  // namespace troupe::detail

#include "actors/sessions/answer_backlog.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace troupe::detail {
namespace {

/// Large answers that do not count for a call. A call with small answers may fail with a longer text, so these end,
/// too.
constexpr std::size_t kBesideAny = 1;
constexpr std::size_t kBesideSmall = 1024;

constexpr std::size_t index_of(AnswerBacklog::Answers answers) { return static_cast<std::size_t>(answers); }

}  // namespace

bool AnswerBacklog::is_full(const AnswerTotals& open, Answers answers) const {
  const std::size_t beside = answers == Answers::small ? kBesideSmall : kBesideAny;
  return (open.large > beside ? open.bytes() : open.small_bytes) > bytes_max_;
}

bool AnswerBacklog::keep(const NodeLife& peer, Answers answers, Begin& begin) {
  const std::lock_guard lock(mutex_);
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return false;
  Kept& kept = found->second.kept[index_of(answers)];
  if (kept.empty() && !is_full(found->second.open, answers)) return false;
  kept.push_back(std::move(begin));
  return true;
}

void AnswerBacklog::sent(const NodeLife& peer, const Parcel& answer) {
  const std::lock_guard lock(mutex_);
  peers_[peer].open.add(answer);
}

void AnswerBacklog::begin_some(Peer& peer, Answers answers, std::vector<Begin>& ready) const {
  Kept& kept = peer.kept[index_of(answers)];
  if (kept.empty() || is_full(peer.open, answers)) return;
  // One at a time while others wait: the size of its answer is unknown.
  const bool all = (answers == Answers::small ? peer.open.small_bytes : peer.open.bytes()) == 0;
  const auto end = all ? kept.end() : std::next(kept.begin());
  ready.insert(ready.end(), std::make_move_iterator(kept.begin()), std::make_move_iterator(end));
  kept.erase(kept.begin(), end);
}

std::vector<AnswerBacklog::Begin> AnswerBacklog::taken(const NodeLife& peer, const AnswerTotals& answers) {
  std::vector<Begin> ready;
  const std::lock_guard lock(mutex_);
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return ready;
  found->second.open.remove(answers);
  begin_some(found->second, Answers::small, ready);
  begin_some(found->second, Answers::any, ready);
  if (found->second.is_idle()) peers_.erase(found);
  return ready;
}

std::map<NodeLife, std::size_t> AnswerBacklog::bytes() const {
  std::map<NodeLife, std::size_t> by_peer;
  const std::lock_guard lock(mutex_);
  for (const auto& [life, peer] : peers_) by_peer.emplace(life, peer.open.bytes());
  return by_peer;
}

std::vector<AnswerBacklog::Begin> AnswerBacklog::gone(const NodeLife& peer) {
  std::vector<Begin> all;
  const std::lock_guard lock(mutex_);
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return all;
  for (Kept& kept : found->second.kept) std::ranges::move(kept, std::back_inserter(all));
  peers_.erase(found);
  return all;
}

std::vector<AnswerBacklog::Begin> AnswerBacklog::stop() {
  std::vector<Begin> all;
  const std::lock_guard lock(mutex_);
  for (auto& [life, peer] : peers_) {
    for (Kept& kept : peer.kept) std::ranges::move(kept, std::back_inserter(all));
  }
  peers_.clear();
  return all;
}

}  // namespace troupe::detail

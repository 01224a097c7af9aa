#include "actors/shards/ended_shards.h"

#include <algorithm>

namespace troupe::detail {

void EndedShards::add(const OptimizerId& optimizer) {
  if (optimizer.creator == self_ || recall(optimizer) == Recall::ended) return;
  std::deque<OptimizerId>& ended = ended_[{optimizer.creator, optimizer.incarnation}];
  ended.push_back(optimizer);
  if (ended.size() > kRememberedMax) ended.pop_front();
}

void EndedShards::drop_creator(const NodeLife& life) { ended_.erase({life.name, life.incarnation.low}); }

Recall EndedShards::recall(const OptimizerId& optimizer) const {
  const auto creator = ended_.find({optimizer.creator, optimizer.incarnation});
  if (creator == ended_.end()) return Recall::unknown;
  return std::ranges::find(creator->second, optimizer) == creator->second.end() ? Recall::unknown : Recall::ended;
}

std::size_t EndedShards::size() const noexcept {
  std::size_t size = 0;
  for (const auto& [life, ended] : ended_) size += ended.size();
  return size;
}

}  // namespace troupe::detail

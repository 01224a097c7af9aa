// A node's memory of optimizers that were released before the message that makes their shard. Plain state: one thread
// at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include "actors/core/actor_directory.h"
#include "messages/ids.h"

namespace troupe::detail {

/// Per life of a creator. Shards that have ended are not remembered: their creating message has come.
class EndedShards {
 public:
  /// The most optimizers remembered of one life; the oldest is forgotten first.
  static constexpr std::size_t kRememberedMax = 256;

  /// Of node `self` nothing is remembered: its messages to itself do not overtake each other.
  explicit EndedShards(NodeName self) : self_(std::move(self)) {}

  /// The optimizer was released, and has no shard.
  void add(const OptimizerId& optimizer);

  /// That life of a node is over. It makes no shards any more.
  void drop_creator(const NodeLife& life);

  /// Returns `ended` for an optimizer that was released.
  [[nodiscard]] Recall recall(const OptimizerId& optimizer) const;

  /// Returns the number of optimizers remembered, of all lives.
  [[nodiscard]] std::size_t size() const noexcept;

 private:
  using Life = std::pair<NodeName, std::uint64_t>;

  NodeName self_;
  std::map<Life, std::deque<OptimizerId>> ended_;  // the oldest first
};

}  // namespace troupe::detail

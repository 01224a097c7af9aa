// What a node remembers of contexts that have ended, so that a late word about one does not make it again. Plain state:
// one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "actors/core/actor_directory.h"
#include "actors/core/node_life.h"
#include "messages/ids.h"

namespace troupe {

/// Tombstones, per life of a creator. Creators number their contexts without gaps, so neighbours share one.
class EndedContexts {
 public:
  /// Runs of serials remembered per creator's life. Beyond it the oldest is forgotten: what is as old as that is in doubt,
  /// and its creator is asked (CX-6).
  static constexpr std::size_t kRunsMax = 1024;

  /// Runs remembered of all creators, whoever they are said to be. Beyond it all of one creator are forgotten, likewise in doubt.
  static constexpr std::size_t kRunsOfAllMax = 64 * kRunsMax;

  explicit EndedContexts(NodeName self) : self_(std::move(self)) {}

  void add(const ContextId& context);

  /// That life of a node is over. What it created is known to have ended by that.
  void drop_creator(const NodeLife& life);

  /// Of a context without an actor. Those of this node itself need no memory: they have ended.
  [[nodiscard]] detail::Recall recall(const ContextId& context) const;

  /// Runs remembered of all creators.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  using Life = std::pair<NodeName, std::uint64_t>;
  struct Creator {
    std::map<std::uint64_t, std::uint64_t> runs;  // first serial -> last serial, never touching each other
    std::uint64_t forgotten = 0;                  // the highest serial of a run that was forgotten
  };

  void forget_one_but(const Life& life);

  NodeName self_;
  std::map<Life, Creator> creators_;
  std::size_t size_ = 0;         // runs of all creators
  std::uint64_t forgotten_ = 0;  // the highest serial of a creator that was forgotten
};

}  // namespace troupe

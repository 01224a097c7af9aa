// A node's memory of ended contexts, so that a late message does not make one again. Plain state: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "actors/core/actor_directory.h"
#include "messages/ids.h"

namespace troupe {

/// Tombstones, per life of a creator. Creators number their contexts without gaps, so adjacent ones share one run.
class EndedContexts {
 public:
  /// The most runs of serials remembered per creator's life. Beyond it the oldest is forgotten: serials up to there are
  /// in doubt, and their creator is asked (CX-6).
  static constexpr std::size_t kRunsMax = 1024;

  /// The most runs remembered over all claimed creators. Beyond it all runs of one creator are forgotten and in doubt.
  static constexpr std::size_t kRunsOfAllMax = 64 * kRunsMax;

  explicit EndedContexts(NodeName self) : self_(std::move(self)) {}

  /// Its creator has ended the context.
  void add(const ContextId& context);

  /// Another node reports, without proof, that the context has ended. From now on it is in doubt, and so are the
  /// contexts of its creator with lower serials that are not known to have ended.
  void doubt(const ContextId& context);

  /// That life of a node is over. Its contexts have ended with it and need no memory.
  void drop_creator(const NodeLife& life);

  /// Returns what is known of a context without an actor. A context of this node itself that has no actor has ended.
  [[nodiscard]] detail::Recall recall(const ContextId& context) const;

  /// Returns the number of runs remembered, of all creators.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  using Life = std::pair<NodeName, std::uint64_t>;
  struct Creator {
    std::map<std::uint64_t, std::uint64_t> runs;  // first serial -> last serial, never touching each other
    std::uint64_t forgotten = 0;                  // the highest serial of a forgotten run
  };

  void forget_one_but(const Life& life);

  NodeName self_;
  std::map<Life, Creator> creators_;
  std::size_t size_ = 0;         // runs of all creators
  std::uint64_t forgotten_ = 0;  // the highest serial of a forgotten creator
};

}  // namespace troupe

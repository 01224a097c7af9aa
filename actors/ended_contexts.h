// What a node remembers of contexts that have ended, so that a late word about one does not make it again. Plain state:
// one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "messages/ids.h"

namespace troupe {

/// Tombstones, per life of a creator. Creators number their contexts without gaps, so neighbours share one.
class EndedContexts {
 public:
  /// Runs of serials remembered per creator's life. Beyond it the two oldest become one, with all between them: only a
  /// context that this node hears of for the first time after so many younger ones is wrongly taken for ended.
  static constexpr std::size_t kRunsMax = 1024;

  void add(const ContextId& context);

  /// That life of a node is over, and with it everything it created.
  void drop_creator(const NodeName& creator, std::uint64_t incarnation);

  [[nodiscard]] bool contains(const ContextId& context) const;

  /// Runs remembered of all creators.
  [[nodiscard]] std::size_t size() const noexcept;

 private:
  using Life = std::pair<NodeName, std::uint64_t>;
  using Runs = std::map<std::uint64_t, std::uint64_t>;  // first serial -> last serial, never touching each other

  std::map<Life, Runs> runs_;
  std::set<Life> gone_;
};

}  // namespace troupe

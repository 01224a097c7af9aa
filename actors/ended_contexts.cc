#include "actors/ended_contexts.h"

#include <iterator>

namespace troupe {

void EndedContexts::add(const ContextId& context) {
  if (contains(context)) return;
  Runs& runs = runs_[{context.creator, context.incarnation}];
  auto at = runs.emplace(context.serial, context.serial).first;
  if (const auto after = std::next(at); after != runs.end() && after->first == at->second + 1) {
    at->second = after->second;
    runs.erase(after);
  }
  if (at != runs.begin()) {
    if (const auto before = std::prev(at); before->second + 1 == at->first) {
      before->second = at->second;
      runs.erase(at);
    }
  }
  if (runs.size() > kRunsMax) {
    const auto oldest = runs.begin();
    const auto next = std::next(oldest);
    oldest->second = next->second;
    runs.erase(next);
  }
}

void EndedContexts::drop_creator(const NodeName& creator, std::uint64_t incarnation) {
  runs_.erase({creator, incarnation});
  gone_.emplace(creator, incarnation);
}

bool EndedContexts::contains(const ContextId& context) const {
  const Life life{context.creator, context.incarnation};
  if (gone_.contains(life)) return true;
  const auto runs = runs_.find(life);
  if (runs == runs_.end()) return false;
  const auto after = runs->second.upper_bound(context.serial);
  return after != runs->second.begin() && std::prev(after)->second >= context.serial;
}

std::size_t EndedContexts::size() const noexcept {
  std::size_t count = 0;
  for (const auto& [life, runs] : runs_) count += runs.size();
  return count;
}

}  // namespace troupe

#include "actors/ended_contexts.h"

#include <algorithm>
#include <iterator>

namespace troupe {

using detail::Recall;

void EndedContexts::add(const ContextId& context) {
  if (recall(context) == Recall::ended) return;
  Creator& creator = creators_[{context.creator, context.incarnation}];
  auto& runs = creator.runs;
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
    creator.forgotten = std::max(creator.forgotten, runs.begin()->second);
    runs.erase(runs.begin());
  }
}

Recall EndedContexts::recall(const ContextId& context) const {
  if (context.creator == self_) return Recall::ended;
  const auto creator = creators_.find({context.creator, context.incarnation});
  if (creator == creators_.end()) return Recall::unknown;
  const auto& runs = creator->second.runs;
  const auto after = runs.upper_bound(context.serial);
  if (after != runs.begin() && std::prev(after)->second >= context.serial) return Recall::ended;
  return context.serial <= creator->second.forgotten ? Recall::in_doubt : Recall::unknown;
}

std::size_t EndedContexts::size() const noexcept {
  std::size_t count = 0;
  for (const auto& [life, creator] : creators_) count += creator.runs.size();
  return count;
}

}  // namespace troupe

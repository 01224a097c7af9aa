#include "actors/contexts/ended_contexts.h"

#include <algorithm>
#include <iterator>

namespace troupe {

using detail::Recall;

void EndedContexts::add(const ContextId& context) {
  if (recall(context) == Recall::ended) return;
  const Life life{context.creator, context.incarnation};
  Creator& creator = creators_[life];
  auto& runs = creator.runs;
  auto at = runs.emplace(context.serial, context.serial).first;
  ++size_;
  if (const auto after = std::next(at); after != runs.end() && after->first == at->second + 1) {
    at->second = after->second;
    runs.erase(after);
    --size_;
  }
  if (at != runs.begin()) {
    if (const auto before = std::prev(at); before->second + 1 == at->first) {
      before->second = at->second;
      runs.erase(at);
      --size_;
    }
  }
  if (runs.size() > kRunsMax) {
    creator.forgotten = std::max(creator.forgotten, runs.begin()->second);
    runs.erase(runs.begin());
    --size_;
  }
  if (size_ > kRunsOfAllMax) forget_one_but(life);
}

void EndedContexts::doubt(const ContextId& context) {
  if (recall(context) == Recall::ended) return;
  const auto creator = creators_.find({context.creator, context.incarnation});
  std::uint64_t& forgotten = creator == creators_.end() ? forgotten_ : creator->second.forgotten;
  forgotten = std::max(forgotten, context.serial);
}

void EndedContexts::drop_creator(const NodeLife& life) {
  const auto creator = creators_.find({life.name, life.incarnation.low});
  if (creator == creators_.end()) return;
  size_ -= creator->second.runs.size();
  creators_.erase(creator);
}

void EndedContexts::forget_one_but(const Life& life) {
  const auto other = creators_.begin()->first != life ? creators_.begin() : std::next(creators_.begin());
  forgotten_ = std::max({forgotten_, other->second.forgotten, other->second.runs.rbegin()->second});
  size_ -= other->second.runs.size();
  creators_.erase(other);
}

Recall EndedContexts::recall(const ContextId& context) const {
  if (context.creator == self_) return Recall::ended;
  std::uint64_t forgotten = forgotten_;
  if (const auto creator = creators_.find({context.creator, context.incarnation}); creator != creators_.end()) {
    const auto& runs = creator->second.runs;
    const auto after = runs.upper_bound(context.serial);
    if (after != runs.begin() && std::prev(after)->second >= context.serial) return Recall::ended;
    forgotten = std::max(forgotten, creator->second.forgotten);
  }
  return context.serial <= forgotten ? Recall::in_doubt : Recall::unknown;
}

}  // namespace troupe

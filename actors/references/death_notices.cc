#include "actors/references/death_notices.h"

#include <new>
#include <utility>

#include "actors/core/guarded.h"

namespace troupe::detail {

void DeathNotices::add(NodeLife life) {
  if (owners_.count() <= kToldHere) return tell({std::move(life)});
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(life));
    if (std::exchange(has_job_, true)) return;
  }
  try {
    run_([this] { tell_all(); }, [this](const Error&) { tell_all(); });
  } catch (const std::bad_alloc&) {  // no job will do it
    tell_all();
  }
}

void DeathNotices::tell(std::vector<NodeLife> lives) const {
  const auto over = std::make_shared<const std::vector<NodeLife>>(std::move(lives));
  for (const RRefId& rref : owners_.list()) tell_(rref, over);
}

void DeathNotices::tell_all() noexcept try {
  while (true) {
    std::vector<NodeLife> lives;
    {
      const std::lock_guard lock(mutex_);
      lives.swap(waiting_);
      has_job_ = !lives.empty();
    }
    if (lives.empty()) return;
    tell(std::move(lives));
  }
} catch (...) {  // an owner would miss it
  failed_(failure_of_current_exception("the owners of values"));
}

}  // namespace troupe::detail

#include "actors/references/death_notices.h"

#include <new>
#include <utility>

#include "actors/core/guarded.h"

namespace troupe::detail {

void DeathNotices::add(PeerDown death) {
  const std::vector<RRefId> owners = owners_();
  if (owners.size() <= kToldHere) {
    for (const RRefId& rref : owners) tell_(rref, death);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(death));
    if (std::exchange(has_job_, true)) return;
  }
  try {
    run_([this] { tell_all(); }, [this](const Error&) { tell_all(); });
  } catch (const std::bad_alloc&) {  // no job will do it
    tell_all();
  }
}

void DeathNotices::tell_all() noexcept try {
  while (true) {
    std::vector<PeerDown> deaths;
    {
      const std::lock_guard lock(mutex_);
      deaths.swap(waiting_);
      has_job_ = !deaths.empty();
    }
    if (deaths.empty()) return;
    for (const RRefId& rref : owners_()) {
      for (const PeerDown& death : deaths) tell_(rref, death);
    }
  }
} catch (...) {  // an owner would miss it
  failed_(failure_of_current_exception("the owners of values"));
}

}  // namespace troupe::detail

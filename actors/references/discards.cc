#include "actors/references/discards.h"

#include <new>
#include <utility>

namespace troupe::detail {

void Discards::add(Value value) {
  bool is_first = false;
  {
    const std::lock_guard lock(waiting_->mutex);
    is_first = waiting_->values.empty();
    waiting_->values.push_back(std::move(value));
  }
  if (!is_first) return;
  const auto destroy_all = [waiting = waiting_] {
    std::vector<Value> taken;
    {
      const std::lock_guard lock(waiting->mutex);
      taken.swap(waiting->values);
    }
    for (Value& each : taken) each.reset();  // in the order in which they came
  };
  try {
    run_(destroy_all, [destroy_all](const Error&) { destroy_all(); });
  } catch (const std::bad_alloc&) {  // no job will take them
    destroy_all();
  }
}

}  // namespace troupe::detail

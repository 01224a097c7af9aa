#include "actors/references/discards.h"

#include <new>
#include <tuple>
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

void destroy_alone(Executor& pool, std::string label, Discards::Value value) {
  const auto held = std::make_shared<Discards::Value>(std::move(value));  // so that no end of a job destroys it
  Job job{.label = std::move(label), .run = [held] { held->reset(); }};
  if (!pool.submit(job)) return;
  job.urgency = Urgency::at_once;  // only now: otherwise many values would hold up the calls that wait for a thread
  std::ignore = pool.submit(std::move(job));
}

}  // namespace troupe::detail

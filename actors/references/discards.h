// Values that are no longer needed, on their way to their destructors.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "actors/executor.h"
#include "messages/error.h"

namespace troupe::detail {

/// Destroys values on the pool. Waking a thread costs more than most destructors, so one job destroys all values that
/// are added before it begins. REQUIRES: the destructors wait for nothing, or they would delay the values behind them.
/// Thread rule: any thread.
class Discards {
 public:
  using Value = std::shared_ptr<const void>;

  /// Runs `job` on the pool, once, or calls `refused`.
  using Run = std::function<void(std::function<void()> job, std::function<void(const Error&)> refused)>;

  explicit Discards(Run run) : run_(std::move(run)) {}

  /// Destroys `value` later, if this is its last holder; in this call if the pool refuses a job or has no memory for
  /// one.
  void add(Value value);

 private:
  /// Held by the jobs, too, which may end later than this object.
  struct Waiting {
    std::mutex mutex;
    std::vector<Value> values;  ///< guarded by mutex; not empty: a job that has not begun will take them
  };

  const Run run_;
  const std::shared_ptr<Waiting> waiting_ = std::make_shared<Waiting>();
};

/// Destroys `value`, if this is its last holder, by a job of its own: its destructor may do anything, also wait for an
/// answer that this thread is to deliver. While all threads of the pool wait, the job waits for one that is free. If
/// the pool has stopped, or there is no memory for a job, destroys it in this call. Throws std::bad_alloc.
void destroy_alone(Executor& pool, std::string label, Discards::Value value);

}  // namespace troupe::detail

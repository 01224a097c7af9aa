// Values that are no longer needed, on their way to their destructors.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

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

}  // namespace troupe::detail

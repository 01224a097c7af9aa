// Handles of this node's values that peers have dropped, on their way to the owners.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "actors/clock.h"
#include "messages/error.h"
#include "messages/ids.h"

namespace troupe::detail {

/// Ending an owner costs some microseconds. The first few owners are told at once, the others by jobs of the pool, so
/// that calls behind them do not wait. A handle that ends late only keeps its value for longer. Thread rule: any
/// thread.
class ReleaseQueue {
 public:
  struct Release {
    NodeLife holder;
    RRefId rref;
    ForkId fork;
  };
  /// Tells the owner, on the thread that adds or on one of the pool.
  using Tell = std::function<void(const Release& release)>;

  /// Runs `job` on the pool, once, or calls `refused`. The job may run as long as this object lives.
  using Run = std::function<void(std::function<void()> job, std::function<void(const Error&)> refused)>;

  static constexpr std::size_t kAtOnce = 16;  ///< owners told by add() itself in any kTime
  static constexpr std::chrono::milliseconds kTime{1};
  static constexpr std::size_t kPerJob = 1024;         ///< at least: then other jobs have their turn
  static constexpr std::size_t kWaitingMax = 131'072;  ///< beyond it add() tells owners itself

  ReleaseQueue(Tell tell, Run run) : tell_(std::move(tell)), run_(std::move(run)) {}

  void add(Release release, TimePoint now);

  /// Tells the owners of all waiting releases, on this thread.
  void tell_all();

 private:
  [[nodiscard]] bool must_wait(TimePoint now);
  void start_job();
  void run_job();
  bool tell_first();

  const Tell tell_;
  const Run run_;
  std::mutex mutex_;             ///< guards all below; never held while an owner is told
  std::deque<Release> waiting_;  ///< not empty: has_job_
  bool has_job_ = false;
  TimePoint since_;  ///< the begin of the present kTime
  std::size_t told_since_ = 0;
};

}  // namespace troupe::detail

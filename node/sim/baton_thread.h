// A thread on which a simulated function runs while the rest of its world stands still.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <semaphore>
#include <thread>
#include <vector>

#include "actors/clock.h"
#include "actors/core/wait_point.h"
#include "node/sim/schedule.h"

namespace troupe::sim {

/// Runs one function after another, each from wait to wait. The world's thread calls the members; it gets the baton
/// back when the function waits or ends.
class BatonThread final : private detail::BlockingHook {
 public:
  explicit BatonThread(std::shared_ptr<Schedule> schedule);

  /// Requires idle().
  ~BatonThread() override;
  BatonThread(const BatonThread&) = delete;
  BatonThread& operator=(const BatonThread&) = delete;

  /// Runs `function` until it waits or ends. Requires idle().
  void begin(std::function<void()> function);

  /// Goes on after a wait. Requires may_go_on().
  void go_on() { switch_over(); }

  /// Ends the function: the wait that it is in, and every other, throws NodeKilled. Requires !idle().
  void unwind();

  [[nodiscard]] bool idle() const { return !function_; }

  /// Whether what the function waits for has come, or its time is up.
  [[nodiscard]] bool may_go_on() const;

  /// When the wait ends at the latest; nothing: no limit.
  [[nodiscard]] std::optional<TimePoint> due() const { return due_; }

 private:
  bool wait(detail::WaitPoint& point, std::optional<TimePoint> due) override;
  void run();
  void switch_over();

  const std::shared_ptr<Schedule> schedule_;
  std::function<void()> function_;
  detail::WaitPoint* point_ = nullptr;  // null unless the function waits
  std::optional<TimePoint> due_;
  bool killed_ = false;
  std::binary_semaphore to_function_{0};
  std::binary_semaphore to_world_{0};
  std::thread thread_;  // last: it uses all of the above
};

/// The threads of one world; those whose function has ended are used again.
class BatonThreads {
 public:
  explicit BatonThreads(std::shared_ptr<Schedule> schedule) : schedule_(std::move(schedule)) {}

  [[nodiscard]] std::unique_ptr<BatonThread> take();
  void give_back(std::unique_ptr<BatonThread> thread) { idle_.push_back(std::move(thread)); }

  /// Ends the idle ones.
  void clear() { idle_.clear(); }

 private:
  const std::shared_ptr<Schedule> schedule_;
  std::vector<std::unique_ptr<BatonThread>> idle_;
};

}  // namespace troupe::sim

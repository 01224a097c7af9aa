// A thread on which a simulated function runs while the rest of its world stands still.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "actors/clock.h"
#include "actors/core/wait_point.h"
#include "node/sim/processor.h"
#include "node/sim/schedule.h"

namespace troupe::sim {

/// Runs one function after another, each from wait to wait. The world's thread calls the members; the baton returns to
/// it when the function waits or ends.
class BatonThread final : private detail::BlockingHook {
 public:
  /// Whenever a function has not waited for `report_after` of real time, standard error says so. Throws
  /// std::system_error if there is no thread. REQUIRES: `report_after` > 0.
  BatonThread(std::shared_ptr<Schedule> schedule, std::shared_ptr<Processor> processor, Duration report_after);

  /// REQUIRES: idle().
  ~BatonThread() override;
  BatonThread(const BatonThread&) = delete;
  BatonThread& operator=(const BatonThread&) = delete;

  /// Runs `function`, which reports call `name`, until it waits or ends. REQUIRES: idle().
  void begin(std::string name, std::function<void()> function);

  /// Continues after a wait. REQUIRES: may_go_on().
  void go_on() { switch_over(); }

  /// Ends the function: the present wait, and every later one, throws NodeKilled; if it is in a destructor, the wait is
  /// over if what it waits for is there, else the process ends with a message. REQUIRES: !idle().
  void unwind();

  [[nodiscard]] bool idle() const { return !function_; }

  /// Returns whether the wait's signal has arrived, or its time is up.
  [[nodiscard]] bool may_go_on() const;

  /// Returns when the wait ends at the latest; nullopt: no limit.
  [[nodiscard]] std::optional<TimePoint> due() const { return due_; }

 private:
  /// The baton on its way back to the world. (A semaphore's try_acquire_for looks for it only now and then.)
  class Returned {
   public:
    void give();
    /// Returns false if it has not come by `due`.
    [[nodiscard]] bool take_until(std::optional<TimePoint> due);

   private:
    std::mutex mutex_;
    std::condition_variable came_;
    bool is_here_ = false;  // guarded by mutex_
  };

  bool wait(detail::WaitPoint& point, std::optional<TimePoint> due) override;
  void run();
  void switch_over();
  void report_computing(Duration time) const;

  const std::shared_ptr<Schedule> schedule_;
  const std::shared_ptr<Processor> processor_;
  const Duration report_after_;
  int at_ = Processor::kNone;  // where thread_ was brought last
  std::string name_;           // of the function
  std::function<void()> function_;
  detail::WaitPoint* point_ = nullptr;  // null unless the function waits
  std::optional<TimePoint> due_;
  bool killed_ = false;
  std::binary_semaphore to_function_{0};
  Returned to_world_;
  std::thread thread_;  // last: it uses all of the above
};

/// The threads of one world; a thread whose function has ended is reused.
class BatonThreads {
 public:
  static constexpr Duration kReportAfter = std::chrono::seconds(30);

  BatonThreads(std::shared_ptr<Schedule> schedule, std::shared_ptr<Processor> processor,
               Duration report_after = kReportAfter)
      : schedule_(std::move(schedule)), processor_(std::move(processor)), report_after_(report_after) {}

  [[nodiscard]] std::unique_ptr<BatonThread> take();
  void give_back(std::unique_ptr<BatonThread> thread) { idle_.push_back(std::move(thread)); }

  /// Ends the idle ones.
  void clear() { idle_.clear(); }

 private:
  const std::shared_ptr<Schedule> schedule_;
  const std::shared_ptr<Processor> processor_;
  const Duration report_after_;
  std::vector<std::unique_ptr<BatonThread>> idle_;
};

}  // namespace troupe::sim

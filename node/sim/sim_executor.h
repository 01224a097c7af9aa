// Runs the functions of one simulated node, its program among them, one at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actors/executor.h"
#include "node/sim/baton_thread.h"
#include "node/sim/schedule.h"

namespace troupe::sim {

/// Each job and each program has its own thread from start to end, and runs only when the world chooses it: at its
/// start, and after a wait that is over. At most `threads_max` jobs have started and not ended; once they all wait,
/// jobs are refused as an ElasticPool refuses them. REQUIRES: the caller holds the baton.
class SimExecutor final : public Executor, private Source {
 public:
  /// REQUIRES: `threads_max` > 0.
  SimExecutor(std::shared_ptr<Schedule> schedule, std::shared_ptr<BatonThreads> threads, NodeName node,
              std::size_t threads_max = PoolOptions{}.threads_max);
  ~SimExecutor() override;
  SimExecutor(const SimExecutor&) = delete;
  SimExecutor& operator=(const SimExecutor&) = delete;

  /// Starts `program`; unlike a job it does not count as work of the node. Dropped if the node is dead.
  void begin_program(std::string label, std::function<void()> program);

  /// As submit, but `job` starts also when `threads_max` jobs have: a real pool runs it on the caller's thread.
  void run_short(Job job) override;

  /// Returns the jobs that have started and not ended.
  [[nodiscard]] std::vector<RunningJob> running() const override;

  [[nodiscard]] std::size_t unfinished() const override;

  [[nodiscard]] std::vector<RunningJob> stop(TimePoint due) override;

  [[nodiscard]] bool runs_this_thread() const override { return active_ != nullptr && active_->is_job; }

  /// Returns the number of functions and programs that have not ended.
  [[nodiscard]] std::size_t count() const { return functions_.size(); }

  /// Accepts nothing more and refuses what has not started.
  void kill();

  /// Unwinds all started functions, on the world's thread, the newest first: a destructor of an older one may wait for
  /// it. Returns how many. REQUIRES: `kill` was called.
  std::size_t unwind();

 private:
  struct Function {
    std::string label;
    std::function<void()> body;                 // until it starts
    std::function<void(const Error&)> refused;  // until it starts; may be empty
    bool is_job = true;
    bool at_once = false;   // a job that starts also while the executor stops
    bool is_short = false;  // a job that needs none of the pool's threads
    TimePoint since;
    std::unique_ptr<BatonThread> thread;  // once it has started

    [[nodiscard]] bool uses_pool() const { return is_job && !is_short; }
  };
  using Functions = std::list<Function>;

  [[nodiscard]] std::optional<Error> take(Job& job) override;
  [[nodiscard]] const NodeName& node() const override { return node_; }
  [[nodiscard]] std::size_t ready() override;
  [[nodiscard]] std::string_view describe(std::size_t index) override;
  void run(std::size_t index) override;
  [[nodiscard]] std::optional<TimePoint> next_due() override;
  [[nodiscard]] bool empty() override { return functions_.empty(); }
  void add(Function function);

  /// A stop that waits.
  struct Stop {
    std::shared_ptr<detail::WaitPoint> drained;
    const Function* caller = nullptr;  // compared only
  };

  [[nodiscard]] bool ready(const Function& function) const;
  /// Returns whether the pool may have no more threads.
  [[nodiscard]] bool is_full() const { return pool_threads_ >= threads_max_; }
  /// Returns whether the pool may have no more threads, and all that it has wait.
  [[nodiscard]] bool all_wait() const;
  /// If all threads wait, they may wait for a job that has not begun: refuses those.
  void refuse_stranded();
  /// Returns false if the system gives no thread and the job has been refused. Throws std::system_error if it gives
  /// none to a program, or to a job that cannot be refused.
  [[nodiscard]] bool give_thread(Functions::iterator function);
  void end(Functions::iterator function);
  /// Returns whether no job is left but that of the function `left_out`.
  [[nodiscard]] bool idle(const Function* left_out) const;
  [[nodiscard]] std::vector<RunningJob> running_but(const Function* left_out) const;
  /// Returns the jobs that a stop drops.
  [[nodiscard]] Functions take_what_has_not_begun();
  static void refuse(const Functions& functions, const Error& why);
  void tell_if_drained();

  const std::shared_ptr<Schedule> schedule_;
  const std::shared_ptr<BatonThreads> threads_;
  const NodeName node_;
  const std::size_t threads_max_;
  std::size_t pool_threads_ = 0;  // jobs that have started and not ended, without short ones
  bool takes_short_ = false;      // during run_short
  Functions functions_;           // in the order of submission
  std::vector<Functions::iterator> ready_;
  std::string description_;
  bool stopping_ = false;
  bool killed_ = false;
  std::vector<Stop> stops_;           // signalled when no job is left but the caller's
  const Function* active_ = nullptr;  // has the baton
};

}  // namespace troupe::sim

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

/// Each job and each program has a thread of its own from its beginning to its end, and runs there only when the world
/// chooses it: at its beginning, and after a wait that is over. For the holder of the baton only.
class SimExecutor final : public Executor, private Source {
 public:
  SimExecutor(std::shared_ptr<Schedule> schedule, std::shared_ptr<BatonThreads> threads, NodeName node);
  ~SimExecutor() override;
  SimExecutor(const SimExecutor&) = delete;
  SimExecutor& operator=(const SimExecutor&) = delete;

  /// Begins `program`; unlike a job it does not count as work of the node. Dropped if the node is dead.
  void begin_program(std::string label, std::function<void()> program);

  /// Jobs that have begun and not ended.
  [[nodiscard]] std::vector<RunningJob> running() const override;

  [[nodiscard]] std::size_t unfinished() const override;

  [[nodiscard]] std::vector<RunningJob> stop(TimePoint due) override;

  /// Functions and programs that have not ended.
  [[nodiscard]] std::size_t count() const { return functions_.size(); }

  /// Takes nothing more and forgets what has not begun.
  void kill();

  /// After `kill`: unwinds all that has begun; on the world's thread. Returns how many.
  std::size_t unwind();

 private:
  struct Function {
    std::string label;
    std::function<void()> body;  // until it begins
    std::function<void(const Error&)> refused;  // likewise; may be empty
    bool is_job = true;
    bool at_once = false;  // a job that begins also while the executor stops
    TimePoint since;
    std::unique_ptr<BatonThread> thread;  // once it has begun

    [[nodiscard]] bool ready() const { return !thread || thread->may_go_on(); }
  };
  using Functions = std::list<Function>;

  [[nodiscard]] std::optional<Error> take(Job& job) override;
  [[nodiscard]] const NodeName& node() const override { return node_; }
  [[nodiscard]] std::size_t ready() override;
  [[nodiscard]] std::string_view describe(std::size_t index) override;
  void run(std::size_t index) override;
  [[nodiscard]] std::optional<TimePoint> next_due() override;

  [[nodiscard]] bool idle() const;
  /// Those of the jobs that a stop drops.
  [[nodiscard]] Functions take_what_has_not_begun();
  void tell_if_drained();

  const std::shared_ptr<Schedule> schedule_;
  const std::shared_ptr<BatonThreads> threads_;
  const NodeName node_;
  Functions functions_;  // in the order in which they came
  std::vector<Functions::iterator> ready_;
  std::string description_;
  bool stopping_ = false;
  bool killed_ = false;
  std::vector<std::shared_ptr<detail::WaitPoint>> drained_;  // told when no job is left
};

}  // namespace troupe::sim

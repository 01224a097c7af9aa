// Where user functions run: never on a thread that the runtime needs.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/clock.h"
#include "messages/call_options.h"
#include "messages/error.h"

namespace troupe {

/// When a job begins.
enum class Urgency : std::uint8_t {
  in_turn,
  at_once,  ///< before all others, and also while as many compute as may: for what makes others end
};

/// A piece of work for the pool and the name under which reports show it.
struct Job {
  std::string label;
  std::function<void()> run;  ///< what it throws is told to `refused`; without that it is in the log
  msg::Priority priority = msg::Priority::normal;
  /// Called instead of `run` if the job is refused: by `submit`, by `stop`, or by a thread that begins to wait and was the
  /// last that could have come back to the job; without it such a job stays in the queue. Must not throw.
  std::function<void(const Error& why)> refused = {};
  Urgency urgency = Urgency::in_turn;
};

/// What a pool thread is doing, for shutdown reports and debug info.
struct RunningJob {
  std::string label;
  Duration age{};
  bool waiting = false;  ///< blocked in one of our waits
};

/// What the threads of a pool are doing.
struct PoolCounts {
  std::size_t threads = 0;  ///< as configured: jobs that compute at the same time
  std::size_t busy = 0;     ///< threads that run a job
  std::size_t waiting = 0;  ///< threads whose job waits in one of our waits
  std::size_t idle = 0;
};

/// Runs jobs. Any thread may call any member.
class Executor {
 public:
  virtual ~Executor() = default;

  /// Runs `job` on a thread of the pool. Returns resource_exhausted if every thread waits and no more may or can be added,
  /// or there is no memory for the job; shutting_down after stop. The job is then dropped unrun, after its `refused`, if
  /// any, was told so on this thread.
  [[nodiscard]] std::optional<Error> submit(Job job);

  [[nodiscard]] virtual std::vector<RunningJob> running() const = 0;

  /// Jobs accepted and not done, running or not.
  [[nodiscard]] virtual std::size_t unfinished() const = 0;

  /// An executor without threads of its own has no idle ones.
  [[nodiscard]] virtual PoolCounts counts() const;

  /// Accepts nothing more, refuses what has not begun with shutting_down, waits until `due` for running jobs and for those
  /// that begin at once; returns those still running, whose threads are abandoned (they own what they touch).
  [[nodiscard]] virtual std::vector<RunningJob> stop(TimePoint due) = 0;

 private:
  /// Takes `job`, or returns why not, or throws std::bad_alloc, and leaves it as it is.
  [[nodiscard]] virtual std::optional<Error> take(Job& job) = 0;
};

/// Size of a node's pool.
struct PoolOptions {
  std::size_t threads = 0;        ///< functions that compute at the same time; 0 = number of cores, at least 2
  std::size_t threads_max = 2048; ///< threads in all; while so many wait, jobs are refused. Busy ones have a queue
};

/// Begins to run `body` on a thread, which nobody joins, with one math thread. Throws std::system_error if there is none.
using StartThread = std::function<void(std::function<void()> body)>;
void start_detached_thread(std::function<void()> body);

/// A pool that grows when a function blocks in one of our waits, so nested calls never starve, whatever its size. Jobs that
/// wait for a thread begin by priority, those of one priority in the order they came. While the system gives no thread, the
/// pool goes on with those it has, as if they were threads_max; with the next job, wait or end of a job it asks again.
class ElasticPool final : public Executor {
 public:
  /// Begins with one thread. Throws RemoteError{resource_exhausted} if `start` gives none.
  explicit ElasticPool(PoolOptions options, StartThread start = start_detached_thread);
  ~ElasticPool() override;
  ElasticPool(const ElasticPool&) = delete;
  ElasticPool& operator=(const ElasticPool&) = delete;

  [[nodiscard]] std::vector<RunningJob> running() const override;
  [[nodiscard]] std::size_t unfinished() const override;
  [[nodiscard]] PoolCounts counts() const override;
  [[nodiscard]] std::vector<RunningJob> stop(TimePoint due) override;

  [[nodiscard]] std::size_t thread_count() const;

 private:
  [[nodiscard]] std::optional<Error> take(Job& job) override;

  struct State;
  std::shared_ptr<State> state_;  // shared with the threads: an abandoned one keeps it alive
};

}  // namespace troupe

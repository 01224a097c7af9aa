// Where user functions run: on a pool's threads, never on a thread of the runtime.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/clock.h"
#include "messages/call_options.h"
#include "messages/error.h"

namespace troupe {

namespace detail {
class WaitingWork;
}  // namespace detail

/// When a job starts.
enum class Urgency : std::uint8_t {
  in_turn,
  at_once,  ///< before all others, even when `threads` jobs compute already: for jobs that let other jobs end
};

/// A piece of work for the pool, and its name in reports.
struct Job {
  std::string label;
  std::function<void()> run;  ///< an exception that it throws is given to `refused`, or logged if there is none
  msg::Priority priority = msg::Priority::normal;
  /// Called instead of `run` if the job is refused: by `submit`, by `stop`, or when the last thread that could have
  /// taken the job starts to wait. Without it, a job refused for that last reason stays queued. REQUIRES: does not
  /// throw.
  std::function<void(const Error& why)> refused = {};
  Urgency urgency = Urgency::in_turn;
};

/// The job of a pool thread, for shutdown reports and debug info.
struct RunningJob {
  std::string label;
  Duration age{};
  bool waiting = false;  ///< blocked in a wait of the runtime
};

/// Counts of a pool's threads.
struct PoolCounts {
  std::size_t threads = 0;  ///< as configured: the number of jobs that may compute at the same time
  std::size_t busy = 0;     ///< threads that run a job
  std::size_t waiting = 0;  ///< threads whose job is blocked in a wait of the runtime
  std::size_t idle = 0;
};

/// Runs jobs. Thread rule: any thread may call any member.
class Executor {
 public:
  virtual ~Executor() = default;

  /// Queues `job` for a thread of the pool. Returns resource_exhausted if every thread waits and none can be added (not
  /// of an `at_once` job: it starts once one of them is free), or if there is no memory for the job; shutting_down
  /// after stop, and in a forked child. On an error `job.refused`, if set, has been called on this thread, and the job
  /// does not run.
  [[nodiscard]] std::optional<Error> submit(Job job);

  /// Runs `job`, which takes at most some ten microseconds, runs no user code and waits for nothing. An executor may
  /// run it at once on this thread; otherwise as submit. What `job.run` throws is given to `job.refused`.
  virtual void run_short(Job job);

  [[nodiscard]] virtual std::vector<RunningJob> running() const = 0;

  /// Returns the number of accepted jobs that have not ended, queued or running.
  [[nodiscard]] virtual std::size_t unfinished() const = 0;

  /// Returns the counts of threads. An executor without threads of its own has no idle ones.
  [[nodiscard]] virtual PoolCounts counts() const;

  /// One idle thread does `work` instead of sleeping, so that a job which that work submits needs no thread to be
  /// woken. Null: none. Does nothing for an executor without idle threads.
  virtual void work_while_idle(std::shared_ptr<detail::WaitingWork> work);

  /// Stops the pool: refuses new and queued jobs with shutting_down, and waits until `due` for running and `at_once`
  /// jobs. Returns the jobs that still run then; their threads are abandoned (they own all that they touch). A job that
  /// calls it is neither waited for nor returned. Throws nothing: without memory it returns fewer jobs.
  [[nodiscard]] virtual std::vector<RunningJob> stop(TimePoint due) = 0;

  /// Returns whether the calling thread runs a job of this executor.
  [[nodiscard]] virtual bool runs_this_thread() const;

  /// Sets the mark of the process that has the executor's threads: true there, false in a child that is forked later.
  /// Null: there is none. REQUIRES: no job has been submitted.
  void belong_to(std::shared_ptr<const std::atomic<bool>> process) { process_ = std::move(process); }

  /// Returns false in a forked child, as far as the executor has a mark.
  [[nodiscard]] bool is_of_this_process() const { return !process_ || process_->load(std::memory_order_relaxed); }

 private:
  /// Takes `job`. If it cannot, returns the error or throws std::bad_alloc, and leaves `job` unchanged.
  [[nodiscard]] virtual std::optional<Error> take(Job& job) = 0;

  std::shared_ptr<const std::atomic<bool>> process_;
};

/// Size of a node's pool.
struct PoolOptions {
  std::size_t threads = 0;         ///< functions that compute at the same time; 0: the number of cores, at least 2
  std::size_t threads_max = 2048;  ///< total threads. Once they all wait, new jobs are refused; otherwise jobs queue
};

/// Runs `body` on a new thread. Throws std::system_error if none can be started.
using StartThread = std::function<void(std::function<void()> body)>;
/// A StartThread: the thread is detached and has one math thread.
void start_detached_thread(std::function<void()> body);

/// A pool that grows when a function blocks in a wait of the runtime: nested calls never starve, whatever its size.
/// Queued jobs start by priority; jobs of one priority start in the order of submission. When the system refuses a
/// thread, the pool continues with those it has, as if that were threads_max; it tries again at the next submit, wait
/// or end of a job.
class ElasticPool final : public Executor {
 public:
  /// Starts one thread. Throws RemoteError{resource_exhausted} if `start` fails.
  explicit ElasticPool(PoolOptions options, StartThread start = start_detached_thread);
  ~ElasticPool() override;
  ElasticPool(const ElasticPool&) = delete;
  ElasticPool& operator=(const ElasticPool&) = delete;

  /// Runs `job` on this thread, with one math thread as on the pool.
  void run_short(Job job) override;
  [[nodiscard]] std::vector<RunningJob> running() const override;
  [[nodiscard]] std::size_t unfinished() const override;
  [[nodiscard]] PoolCounts counts() const override;
  void work_while_idle(std::shared_ptr<detail::WaitingWork> work) override;
  [[nodiscard]] std::vector<RunningJob> stop(TimePoint due) override;
  [[nodiscard]] bool runs_this_thread() const override;

  [[nodiscard]] std::size_t thread_count() const;

 private:
  [[nodiscard]] std::optional<Error> take(Job& job) override;

  struct State;
  std::shared_ptr<State> state_;  // shared with the threads: an abandoned thread keeps it alive
};

}  // namespace troupe

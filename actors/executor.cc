#include "actors/executor.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <iterator>
#include <list>
#include <mutex>
#include <numeric>
#include <thread>

#include "actors/refused.h"
#include "actors/wait_point.h"
#include "tensor/math_threads.h"

namespace troupe {
namespace {

using detail::refused;

struct Seat {
  std::string label;  // guarded by State::mutex
  std::chrono::steady_clock::time_point since;
  bool waiting = false;
};

}  // namespace

struct ElasticPool::State : std::enable_shared_from_this<ElasticPool::State> {
  PoolOptions options;
  mutable std::mutex mutex;
  std::condition_variable work;     // a job was queued, or stopping
  std::condition_variable drained;  // a job ended
  // All below guarded by mutex.
  std::array<std::deque<Job>, 3> queues;  // by priority, the lowest first
  std::list<Seat> seats;  // one per job that is running
  std::size_t threads = 0;
  std::size_t idle = 0;
  std::size_t waiting = 0;
  bool stopping = false;

  [[nodiscard]] std::size_t queued() const;
  [[nodiscard]] Job next_job();
  [[nodiscard]] std::size_t computing() const { return threads - idle - waiting; }

  void run_thread();
  void start_thread_if_needed();
  void enter(Seat& seat, bool waits);
  [[nodiscard]] std::vector<Job> take_stranded();
  [[nodiscard]] Error all_wait() const;
  [[nodiscard]] std::vector<RunningJob> running_locked() const;
};

namespace {

/// Lets another function run while this one waits.
class PoolHook final : public detail::BlockingHook {
 public:
  using Enter = std::function<void(bool waiting)>;
  explicit PoolHook(Enter enter) : enter_(std::move(enter)) {}

  bool wait(detail::WaitPoint& point, std::optional<TimePoint> due) override {
    enter_(true);
    const bool came = point.wait_here(due);
    enter_(false);
    return came;
  }

 private:
  Enter enter_;
};

}  // namespace

std::size_t ElasticPool::State::queued() const {
  return std::accumulate(queues.begin(), queues.end(), std::size_t{0},
                         [](std::size_t sum, const std::deque<Job>& queue) { return sum + queue.size(); });
}

/// Requires that there is one.
Job ElasticPool::State::next_job() {
  auto& queue = *std::find_if(queues.rbegin(), queues.rend(), [](const std::deque<Job>& q) { return !q.empty(); });
  Job job = std::move(queue.front());
  queue.pop_front();
  return job;
}

void ElasticPool::State::start_thread_if_needed() {
  if (queued() == 0 || idle > 0 || computing() >= options.threads || threads >= options.threads_max) return;
  ++threads;
  std::thread([state = shared_from_this()] { state->run_thread(); }).detach();
}

/// The thread of `seat` begins or ends a wait.
void ElasticPool::State::enter(Seat& seat, bool waits) {
  std::vector<Job> stranded;
  {
    std::lock_guard lock(mutex);
    seat.waiting = waits;
    waits ? ++waiting : --waiting;
    start_thread_if_needed();
    stranded = take_stranded();
  }
  for (const Job& job : stranded) job.refused(all_wait());
}

/// If all threads wait, what they wait for might be a job that is queued: those that can be told are.
std::vector<Job> ElasticPool::State::take_stranded() {
  std::vector<Job> stranded;
  if (waiting < options.threads_max) return stranded;
  for (auto& queue : queues) {
    const auto kept = std::stable_partition(queue.begin(), queue.end(), [](const Job& job) { return !job.refused; });
    std::move(kept, queue.end(), std::back_inserter(stranded));
    queue.erase(kept, queue.end());
  }
  return stranded;
}

Error ElasticPool::State::all_wait() const {
  return refused(ErrorCode::resource_exhausted,
                 "all " + std::to_string(options.threads_max) + " pool threads wait (pool.threads_max)");
}

void ElasticPool::State::run_thread() {
  const MathThreads one_math_thread(1);
  std::unique_lock lock(mutex);
  while (true) {
    ++idle;
    work.wait(lock, [this] { return stopping || queued() > 0 || threads - waiting > options.threads; });
    --idle;
    if (queued() == 0) break;  // stopping, or more threads than may compute at once
    Job job = next_job();
    const auto seat = seats.insert(seats.end(), Seat{job.label, std::chrono::steady_clock::now(), false});
    start_thread_if_needed();
    lock.unlock();
    {
      PoolHook hook([this, seat](bool waits) { enter(*seat, waits); });
      const detail::BlockingHook::Guard guard(hook);
      job.run();
      job = {};  // what the job holds is user code too: it ends here, not under the lock
    }
    lock.lock();
    seats.erase(seat);
    drained.notify_all();
  }
  --threads;
  drained.notify_all();
}

std::vector<RunningJob> ElasticPool::State::running_locked() const {
  std::vector<RunningJob> jobs;
  const auto now = std::chrono::steady_clock::now();
  for (const Seat& seat : seats) jobs.push_back({seat.label, now - seat.since, seat.waiting});
  return jobs;
}

std::optional<Error> Executor::submit(Job job) {
  std::optional<Error> error = take(job);
  if (error && job.refused) job.refused(*error);
  return error;
}

PoolCounts Executor::counts() const {
  PoolCounts counts;
  for (const RunningJob& job : running()) ++(job.waiting ? counts.waiting : counts.busy);
  counts.threads = counts.busy + counts.waiting;
  return counts;
}

ElasticPool::ElasticPool(PoolOptions options) : state_(std::make_shared<State>()) {
  if (options.threads == 0) options.threads = std::max(2U, std::thread::hardware_concurrency());
  options.threads_max = std::max(options.threads_max, options.threads);
  state_->options = options;
}

ElasticPool::~ElasticPool() { std::ignore = stop(TimePoint{}); }

std::optional<Error> ElasticPool::take(Job& job) {
  std::lock_guard lock(state_->mutex);
  if (state_->stopping) return refused(ErrorCode::shutting_down, "the pool is stopped");
  // A thread that computes comes back to the queue. If all wait, what they wait for might be this job.
  if (state_->waiting >= state_->options.threads_max) return state_->all_wait();
  const auto level = std::clamp<std::size_t>(static_cast<std::size_t>(job.priority), 1, state_->queues.size()) - 1;
  state_->queues[level].push_back(std::move(job));
  state_->idle > 0 ? state_->work.notify_one() : state_->start_thread_if_needed();
  return std::nullopt;
}

std::vector<RunningJob> ElasticPool::running() const {
  std::lock_guard lock(state_->mutex);
  return state_->running_locked();
}

std::size_t ElasticPool::unfinished() const {
  std::lock_guard lock(state_->mutex);
  return state_->seats.size() + state_->queued();
}

PoolCounts ElasticPool::counts() const {
  std::lock_guard lock(state_->mutex);
  return {state_->options.threads, state_->seats.size() - state_->waiting, state_->waiting, state_->idle};
}

std::size_t ElasticPool::thread_count() const {
  std::lock_guard lock(state_->mutex);
  return state_->threads;
}

std::vector<RunningJob> ElasticPool::stop(TimePoint due) {
  std::array<std::deque<Job>, 3> dropped;  // ends after the lock is released: jobs hold user values
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  dropped.swap(state_->queues);
  state_->work.notify_all();
  state_->drained.wait_until(lock, due, [this] { return state_->seats.empty() && state_->threads == 0; });
  std::vector<RunningJob> left = state_->running_locked();
  lock.unlock();
  return left;
}

}  // namespace troupe

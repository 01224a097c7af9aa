#include "actors/executor.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstddef>
#include <iterator>
#include <list>
#include <mutex>
#include <new>
#include <numeric>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "actors/core/error_not_run.h"
#include "actors/core/guarded.h"
#include "actors/core/wait_point.h"
#include "tensor/math_threads.h"

namespace troupe {
namespace {

using detail::error_not_run;

struct Seat {
  std::thread::id thread;  // set before the seat is among State::seats, const from then on
  std::string label;       // guarded by State::mutex
  std::chrono::steady_clock::time_point since;
  bool waiting = false;  // set by its thread only
};

using Jobs = std::list<Job>;  // moved between lists without allocating

/// Runs the job; passes an exception to `refused`, which must not throw.
void run(Job& job, std::string_view label) noexcept {
  try {
    job.run();
  } catch (...) {
    const Error why = detail::failure_of_current_exception(label);
    job.refused ? job.refused(why) : spdlog::error("a job of the pool failed: {}", why.text());
  }
}

void refuse(Jobs jobs, const Error& why) noexcept {
  for (const Job& job : jobs) {
    if (job.refused) job.refused(why);
  }
}

/// Without memory it has no text.
Error stopped() noexcept {
  Error error = detail::not_run({.code = ErrorCode::shutting_down});
  set_text(error.message, "the pool is stopped");
  return error;
}

Error of_another_process() {
  return error_not_run(ErrorCode::shutting_down, "the pool belongs to the process from which this one was forked");
}

}  // namespace

struct ElasticPool::State : std::enable_shared_from_this<ElasticPool::State> {
  PoolOptions options;
  StartThread start;
  mutable std::mutex mutex;
  std::condition_variable changed;  // a job was queued, or stopping
  std::condition_variable drained;  // a job ended
  // All below guarded by mutex.
  Jobs urgent;
  std::array<Jobs, 3> queues;  // by priority, the lowest first
  std::list<Seat> seats;       // one per job that is running; each thread brings its own
  std::size_t threads = 0;
  std::size_t starting = 0;  // of these, threads that have not started to run
  std::size_t idle = 0;
  std::size_t waiting = 0;
  std::error_code refusal;  // of the last requested thread; none if it was started
  bool stopping = false;
  std::shared_ptr<detail::WaitingWork> work;  // of one idle thread
  struct AtWork {
    detail::WaitPoint point;
    std::thread::id thread = std::this_thread::get_id();
    bool has_job = false;  // it was signalled for a job
  };
  AtWork* at_work = nullptr;  // of the idle thread that works

  [[nodiscard]] std::size_t queued() const;
  [[nodiscard]] Job next_job();
  [[nodiscard]] std::size_t computing() const { return threads - idle - waiting; }
  [[nodiscard]] bool has_too_many() const { return threads - waiting > options.threads; }
  [[nodiscard]] bool nobody_comes_back() const { return threads == waiting; }

  void run_thread(std::list<Seat> own);
  [[nodiscard]] bool is_needed() const;
  void be_idle(std::unique_lock<std::mutex>& lock);
  void wake_one_for_job();
  void call_another();
  void wake_all();
  void start_thread();
  void start_thread_if_needed();
  void enter(Seat& seat, bool waits) noexcept;
  [[nodiscard]] Jobs take_stranded() noexcept;
  [[nodiscard]] Error all_wait() const noexcept;
  /// Returns the seat of the calling thread; null if it runs no job of this pool.
  [[nodiscard]] const Seat* own_seat() const;
  /// Adds the running jobs to `jobs`, without that of the seat `left_out`. Throws std::bad_alloc; then `jobs` has some.
  void list_locked(std::vector<RunningJob>& jobs, const Seat* left_out) const;
};

namespace {

/// Lets another function run while the thread's function waits.
template <class State>
class PoolHook final : public detail::BlockingHook {
 public:
  PoolHook(State& state, Seat& seat) : state_(state), seat_(seat) {}

  bool wait(detail::WaitPoint& point, std::optional<TimePoint> due) override {
    if (seat_.waiting) return point.wait_here(due);  // for a job that this thread refuses as it starts to wait
    const Waiting waiting(state_, seat_);
    return point.wait_here(due);
  }

 private:
  struct Waiting {
    Waiting(State& s, Seat& w) noexcept : state(s), seat(w) { state.enter(seat, true); }
    ~Waiting() { state.enter(seat, false); }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    State& state;
    Seat& seat;
  };

  State& state_;
  Seat& seat_;
};

}  // namespace

void start_detached_thread(std::function<void()> body) {
  std::thread([body = std::move(body)] {
    const MathThreads one_math_thread(1);
    body();
  }).detach();
}

std::size_t ElasticPool::State::queued() const {
  return std::accumulate(queues.begin(), queues.end(), std::size_t{0},
                         [](std::size_t sum, const Jobs& queue) { return sum + queue.size(); });
}

/// REQUIRES: a job is queued.
Job ElasticPool::State::next_job() {
  auto& queue =
      urgent.empty() ? *std::find_if(queues.rbegin(), queues.rend(), [](const Jobs& q) { return !q.empty(); }) : urgent;
  Job job = std::move(queue.front());
  queue.pop_front();
  return job;
}

void ElasticPool::State::start_thread() {
  ++threads;
  ++starting;
  try {
    // Allocates all that the thread needs to run jobs: it must not allocate later.
    start([state = shared_from_this(), seat = std::make_shared<std::list<Seat>>(1)] {
      state->run_thread(std::move(*seat));
    });
    refusal.clear();
    return;
  } catch (const std::system_error& error) {
    refusal = error.code();
  } catch (const std::bad_alloc&) {
    refusal = std::make_error_code(std::errc::not_enough_memory);
  }
  --threads;
  --starting;
}

void ElasticPool::State::start_thread_if_needed() {
  if (idle > 0 || threads >= options.threads_max) return;
  // One thread serves many `at_once` jobs, as they are short.
  if ((!urgent.empty() && starting == 0) || (queued() > 0 && computing() < options.threads)) start_thread();
}

/// The thread of `seat` starts or ends a wait. Needs no memory: its function has given up its turn on a value by then.
void ElasticPool::State::enter(Seat& seat, bool waits) noexcept {
  Jobs stranded;
  {
    std::lock_guard lock(mutex);
    seat.waiting = waits;
    waits ? ++waiting : --waiting;
    start_thread_if_needed();
    stranded = take_stranded();
  }
  if (!stranded.empty()) refuse(std::move(stranded), all_wait());
}

/// If all threads wait, they may wait for a queued job: returns the queued jobs that have a `refused`.
Jobs ElasticPool::State::take_stranded() noexcept {
  Jobs stranded;
  if (!nobody_comes_back()) return stranded;
  for (Jobs& queue : queues) {
    for (auto at = queue.begin(); at != queue.end();) {
      const auto job = at++;
      if (job->refused) stranded.splice(stranded.end(), queue, job);
    }
  }
  return stranded;
}

/// The error if all threads wait; includes the system's error if the last thread could not be started. Without memory
/// it is short.
Error ElasticPool::State::all_wait() const noexcept {
  Error error = error_not_run(ErrorCode::resource_exhausted, "no free thread");
  try {
    std::lock_guard lock(mutex);
    error.message = refusal ? "all " + std::to_string(threads) +
                                  " pool threads wait, and the system gives no more: " + refusal.message()
                            : "all " + std::to_string(options.threads_max) + " pool threads wait (pool.threads_max)";
  } catch (const std::bad_alloc&) {  // the short text stays
  }
  return error;
}

bool ElasticPool::State::is_needed() const { return stopping || !urgent.empty() || queued() > 0 || has_too_many(); }

/// Returns when the calling thread is needed. One idle thread does `work`, the others sleep.
void ElasticPool::State::be_idle(std::unique_lock<std::mutex>& lock) {
  ++idle;
  while (!is_needed()) {
    const std::shared_ptr<detail::WaitingWork> mine = at_work == nullptr ? work : nullptr;
    std::optional<bool> came;
    if (mine) {
      AtWork here;
      at_work = &here;
      lock.unlock();
      came = mine->work_while_idle(here.point);
      lock.lock();
      at_work = nullptr;
      if (here.has_job) ++idle;  // another thread may have taken the job meanwhile
    }
    if (!came && !is_needed()) changed.wait(lock);
  }
  --idle;
}

/// REQUIRES: a thread is idle.
void ElasticPool::State::wake_one_for_job() {
  // A job that the working thread submits is its own: no thread need be woken.
  const bool can_work = at_work != nullptr && !at_work->has_job;
  if (can_work && (idle == 1 || at_work->thread == std::this_thread::get_id())) {
    at_work->has_job = true;
    --idle;  // it comes as soon as its work lets it: for the next job another thread is needed
    at_work->point.signal();
  } else {
    changed.notify_one();
  }
}

/// Finds a thread for the queued jobs, if there are any. Called for each job that is queued, and by each thread that
/// takes one: of two jobs that are queued before a thread wakes, the second may have woken nobody.
void ElasticPool::State::call_another() {
  if (urgent.empty() && queued() == 0) return;
  idle > 0 ? wake_one_for_job() : start_thread_if_needed();
}

void ElasticPool::State::wake_all() {
  changed.notify_all();
  if (at_work != nullptr) at_work->point.signal();
}

void ElasticPool::State::run_thread(std::list<Seat> own) {
  const auto seat = own.begin();
  seat->thread = std::this_thread::get_id();
  std::unique_lock lock(mutex);
  --starting;
  while (true) {
    be_idle(lock);
    if (urgent.empty() && (stopping || has_too_many())) break;
    Job job = next_job();
    seat->label = std::move(job.label);
    seat->since = std::chrono::steady_clock::now();
    seats.splice(seats.end(), own);
    call_another();
    lock.unlock();
    {
      PoolHook hook(*this, *seat);
      const detail::BlockingHook::Guard guard(hook);
      run(job, seat->label);
      job = {};  // the job's contents are user code too: destroyed here, without the lock
    }
    lock.lock();
    own.splice(own.end(), seats, seat);
    drained.notify_all();
  }
  --threads;
  call_another();  // this thread was woken for a job
  drained.notify_all();
}

const Seat* ElasticPool::State::own_seat() const {
  const auto found = std::ranges::find(seats, std::this_thread::get_id(), &Seat::thread);
  return found == seats.end() ? nullptr : &*found;
}

void ElasticPool::State::list_locked(std::vector<RunningJob>& jobs, const Seat* left_out) const {
  const auto now = std::chrono::steady_clock::now();
  for (const Seat& seat : seats) {
    if (&seat != left_out) jobs.push_back({seat.label, now - seat.since, seat.waiting});
  }
}

std::optional<Error> Executor::submit(Job job) {
  std::optional<Error> error;
  try {
    error = is_of_this_process() ? take(job) : of_another_process();
  } catch (const std::bad_alloc&) {
    error = error_not_run(ErrorCode::resource_exhausted, "out of memory");
  }
  if (error && job.refused) job.refused(*error);
  return error;
}

void Executor::run_short(Job job) { std::ignore = submit(std::move(job)); }

PoolCounts Executor::counts() const {
  PoolCounts counts;
  for (const RunningJob& job : running()) ++(job.waiting ? counts.waiting : counts.busy);
  counts.threads = counts.busy + counts.waiting;
  return counts;
}

ElasticPool::ElasticPool(PoolOptions options, StartThread start) : state_(std::make_shared<State>()) {
  if (options.threads == 0) options.threads = std::max(2U, std::thread::hardware_concurrency());
  options.threads_max = std::max(options.threads_max, options.threads);
  state_->options = options;
  state_->start = std::move(start);
  std::lock_guard lock(state_->mutex);
  state_->start_thread();
  if (!state_->refusal) return;
  throw RemoteError(error_not_run(ErrorCode::resource_exhausted,
                                  "the system gives the pool no first thread: " + state_->refusal.message()));
}

bool Executor::runs_this_thread() const { return false; }

void Executor::work_while_idle(std::shared_ptr<detail::WaitingWork> /*work*/) {}

void ElasticPool::run_short(Job job) {
  const MathThreads one_math_thread(1);
  troupe::run(job, job.label);
}

void ElasticPool::work_while_idle(std::shared_ptr<detail::WaitingWork> work) {
  std::lock_guard lock(state_->mutex);
  state_->work = std::move(work);
  state_->wake_all();
}

ElasticPool::~ElasticPool() { std::ignore = stop(TimePoint{}); }

std::optional<Error> ElasticPool::take(Job& job) {
  State& state = *state_;
  {
    std::lock_guard lock(state.mutex);
    if (state.stopping) return stopped();
    const auto level = std::clamp<std::size_t>(static_cast<std::size_t>(job.priority), 1, state.queues.size()) - 1;
    const bool at_once = job.urgency == Urgency::at_once;
    Jobs& queue = at_once ? state.urgent : state.queues[level];
    queue.push_back(std::move(job));
    state.call_another();
    // A computing thread returns to the queue. If all threads wait, they may wait for this job.
    if (at_once || !state.nobody_comes_back()) return std::nullopt;
    job = std::move(queue.back());
    queue.pop_back();
  }
  return state.all_wait();
}

std::vector<RunningJob> ElasticPool::running() const {
  std::vector<RunningJob> jobs;
  std::lock_guard lock(state_->mutex);
  state_->list_locked(jobs, nullptr);
  return jobs;
}

bool ElasticPool::runs_this_thread() const {
  std::lock_guard lock(state_->mutex);
  return state_->own_seat() != nullptr;
}

std::size_t ElasticPool::unfinished() const {
  std::lock_guard lock(state_->mutex);
  return state_->seats.size() + state_->queued() + state_->urgent.size();
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
  Jobs dropped;  // destroyed without the lock: jobs hold user values
  {
    std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    for (Jobs& queue : state_->queues) dropped.splice(dropped.end(), queue);
    state_->wake_all();
  }
  if (!dropped.empty()) refuse(std::move(dropped), stopped());
  std::unique_lock lock(state_->mutex);
  const Seat* const own = state_->own_seat();
  const std::size_t stays = own == nullptr ? 0 : 1;
  state_->drained.wait_until(lock, due, [&] { return state_->seats.size() == stays && state_->threads == stays; });
  std::vector<RunningJob> left;
  try {
    state_->list_locked(left, own);
  } catch (const std::bad_alloc&) {  // the list is shorter
  }
  return left;
}

}  // namespace troupe

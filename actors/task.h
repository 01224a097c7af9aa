// Coroutines: functions that wait for futures without holding a thread.
//
//   Task<Tensor> both(Scope& scope, Tensor x) {
//     const Future<Tensor> a = scope.rpc_async("ps0", &half, x);
//     const Tensor b = co_await scope.rpc_async("ps1", &half, x);
//     co_return add(co_await a, b);
//   }
//
// Registered and called like any function; its caller gets the Tensor. Between two waits a task runs on one pool
// thread; after a wait it may continue on another. Reference parameters of a served task stay valid until it is done;
// for other tasks, see `start`. A guard that a task holds over a wait (a NoGradGuard, for example) acts wherever the
// task continues, and in tasks that it awaits, but nowhere else.
#pragma once

#include <coroutine>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "actors/calls/scope_state.h"
#include "actors/future.h"
#include "autograd/frame_guards.h"

namespace troupe {

class Scope;

namespace detail {

/// The turn of a function that runs on the value of an RRef.
class TaskTurn {
 public:
  virtual ~TaskTurn() = default;
  /// The task is about to wait, or no longer waits for the turn: other functions may use the value until take_again.
  virtual void give_up() = 0;
  /// Calls `granted` when the task has the turn again; at once if it has it now. REQUIRES: `granted` does not block.
  virtual void take_again(std::function<void()> granted) = 0;
  /// As take_again, behind all functions that wait for the turn, also those that have not begun.
  virtual void take_anew(std::function<void()> granted) = 0;
  /// Runs a part of the task on this thread. A blocking wait in `part` also gives up the turn, while the part has it.
  virtual void run(const std::function<void()>& part) = 0;
  /// Starts `part` on the pool, also while all its threads wait; drops it if the pool has stopped.
  virtual void run_on_pool(std::function<void()> part) = 0;
  /// The function has returned a future: it goes on without the turn until that is done, and may change the value.
  virtual void leave() = 0;
  /// The awaited task, which ran in this part, is done: the turn passes to the part in which its awaiter continues.
  virtual void pass_on() noexcept = 0;
  /// The awaited task was done before its awaiter had to wait: this part has the turn.
  virtual void passed_back() noexcept = 0;
};

/// The surroundings of a task, the same on every thread on which it continues.
struct TaskPlace {
  FutureHome home;
  std::shared_ptr<const ScopeState> scope;  ///< the scope of its calls and graph vertices; null: no scope
  std::shared_ptr<TaskTurn> turn;           ///< null unless the task runs on the value of an RRef
};

[[nodiscard]] TaskPlace place_of(const Scope& scope);

/// What happens to the turn while a task waits.
enum class WaitingTurn : std::uint8_t {
  given_up,   ///< other functions may use the value
  passed_on,  ///< the awaited task, which runs in the same place, has the turn and passes it back when it is done
};

/// Returns the callback that runs `frame`, which has these guards, on the pool. If the pool refuses that, as it has
/// stopped or all its threads wait, it calls `refused` instead: on the thread that completes the future or grants the
/// turn, or a pool thread. There the frame ends, without a turn that it has given up. It does not wait for a free
/// thread: all pool threads may be waiting for this task, and nothing may block where a turn is granted.
[[nodiscard]] FutureCore::Callbacks resumption_of(std::shared_ptr<const TaskPlace> place, std::coroutine_handle<> frame,
                                                  FrameGuards& guards, std::function<void(const Error& why)> refused);

/// Calls `resumption`, of a frame in this place, once `future` is done. Throws std::bad_alloc; then the frame keeps its
/// turn and may go on.
void resume_after(FutureCore& future, const TaskPlace& place, WaitingTurn turn, FutureCore::Callbacks resumption);

template <class T>
class TaskResult;

/// The promise type of a Task, except for how its result is returned. The Task owns the frame until it starts; then the
/// frame owns itself and is destroyed when it has a result, before the waits for that end.
template <class T>
class TaskPromise {
 public:
  Task<T> get_return_object() {
    return Task<T>(std::coroutine_handle<TaskResult<T>>::from_promise(static_cast<TaskResult<T>&>(*this)));
  }
  std::suspend_always initial_suspend() noexcept { return {}; }
  auto final_suspend() noexcept {
    struct Finish {
      bool await_ready() noexcept { return false; }
      void await_suspend(std::coroutine_handle<TaskResult<T>> frame) noexcept { finish(frame); }
      void await_resume() noexcept {}
    };
    return Finish{};
  }
  void unhandled_exception() {
    try {
      throw;
    } catch (const RemoteError& error) {
      result_ = error.error();
    } catch (...) {
      result_ = error_of_current_exception({}, {}, place_->home.exceptions.get());
    }
  }

  /// Takes the frame from its owner, and destroys it if its first part ends without memory for the error. Throws that
  /// std::bad_alloc; also one before, which leaves the frame to its owner.
  Future<T> start(std::shared_ptr<const TaskPlace> place, const FrameGuards& guards,
                  std::coroutine_handle<TaskResult<T>>& owner) {
    place_ = std::move(place);
    guards_ = guards;
    promise_.emplace(place_->home);
    Future<T> future = promise_->future();
    const std::coroutine_handle<TaskResult<T>> frame = std::exchange(owner, nullptr);
    try {
      guards_.resume(frame);
    } catch (...) {  // of unhandled_exception
      guards_.destroy(frame);
      throw;
    }
    return future;
  }

  /// `co_await future` inside the task: returns the value, or throws the Error.
  template <class U>
  auto await_transform(Future<U> future) {
    return Wait<U>{std::move(future), *this, WaitingTurn::given_up, {}};
  }

  /// `co_await task`: starts the task on this thread, in the same place and under the same guards.
  template <class U>
  auto await_transform(Task<U> task) {
    guards_.keep();
    FutureCore::Callbacks resumption = this->resumption();  // first: a task that has begun must be waited for
    return Wait<U>{std::move(task).start_in(place_, guards_), *this, WaitingTurn::passed_on, std::move(resumption)};
  }

 protected:
  std::optional<Result<Stored<T>>> result_;

 private:
  template <class U>
  struct Wait {
    Future<U> future;
    TaskPromise& promise;
    WaitingTurn turn;
    FutureCore::Callbacks resumption;  // empty until it is needed
    bool await_ready() const {
      if (!future.ready()) return false;
      if (turn == WaitingTurn::passed_on && promise.place_->turn) promise.place_->turn->passed_back();
      return true;
    }
    void await_suspend(std::coroutine_handle<> /*frame*/) {
      // After resume_after the frame may run on another thread and end: this function must not touch it again.
      const std::shared_ptr<FutureState<Stored<U>>> state = future.shared_state();
      if (resumption.empty()) resumption = promise.resumption();
      promise.guards_.keep();
      promise.has_waited_ = true;
      resume_after(*state, *promise.place_, turn, std::move(resumption));
    }
    U await_resume() const { return future.get(); }
  };

  [[nodiscard]] FutureCore::Callbacks resumption() {
    const auto frame = std::coroutine_handle<TaskResult<T>>::from_promise(static_cast<TaskResult<T>&>(*this));
    return resumption_of(place_, frame, guards_, [this, frame](const Error& why) { abandon(why, frame); });
  }

  /// Its locals have ended. The parameters end, in its turn, before the waiters continue; this promise ends with them.
  static void finish(std::coroutine_handle<TaskResult<T>> frame) noexcept {
    TaskPromise& ended = frame.promise();
    const auto place = std::move(ended.place_);
    const Promise<T> promise = *std::move(ended.promise_);
    Result<Stored<T>> result = ended.taken_result();
    const bool passes_on = ended.has_waited_ && place->turn;
    frame.destroy();
    if (passes_on) place->turn->pass_on();  // what is left of this part has no turn
    try {
      promise.complete(std::move(result));
    } catch (...) {
      promise.complete(error_of_result());
    }
  }
  [[nodiscard]] Result<Stored<T>> taken_result() noexcept {
    try {
      return *std::move(result_);
    } catch (...) {
      return error_of_result();
    }
  }
  // The locals end before the waiters continue, as in a task that returns. This promise ends with them.
  void abandon(const Error& why, std::coroutine_handle<> frame) {
    Error error = copy_of(why);  // of a future that may be one of the locals
    const auto place = std::move(place_);
    const Promise<T> promise = *std::move(promise_);
    guards_.destroy(frame);
    promise.complete(std::move(error));
  }

  std::shared_ptr<const TaskPlace> place_;
  std::optional<Promise<T>> promise_;
  FrameGuards guards_;
  bool has_waited_ = false;  // true: its awaiter continues in another part than the one in which it ends
};

template <class T>
class TaskResult final : public TaskPromise<T> {
 public:
  template <class U>
    requires std::convertible_to<U, T>
  void return_value(U&& value) {
    this->result_ = Result<T>(T(std::forward<U>(value)));
  }
};

template <class T>
  requires std::is_void_v<T>
class TaskResult<T> final : public TaskPromise<T> {
 public:
  void return_void() { this->result_ = Result<Unit>(Unit{}); }
};

}  // namespace detail

/// A coroutine that has not started. Serve it, `co_await` it in another task, or call `start`. Movable; a task that is
/// never started does nothing. Belongs to one thread.
template <class T>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::TaskResult<T>;

  explicit Task(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}
  Task(Task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  ~Task() {
    if (frame_) frame_.destroy();
  }

  /// Runs the task on this thread up to its first wait. REQUIRES: everything the task refers to outlives its frame.
  /// Without cancellation the frame has ended when the future is done. A cancelled future is done at once while the
  /// task runs on unobserved, so a task whose future may be cancelled must own what it uses (parameters by value,
  /// shared_ptr). If the node stops before, the future fails with shutting_down. Of this thread's guards, only gradient
  /// recording (NoGradGuard, EnableGradGuard) applies, to the whole task.
  Future<T> start(const Scope& scope) && {
    return std::move(*this).start_in(std::make_shared<detail::TaskPlace>(detail::place_of(scope)));
  }

  Future<T> start_in(std::shared_ptr<const detail::TaskPlace> place) && {
    return std::move(*this).start_in(std::move(place), detail::FrameGuards());
  }

  /// REQUIRES: the guards that `guards` has last until the task is done.
  Future<T> start_in(std::shared_ptr<const detail::TaskPlace> place, const detail::FrameGuards& guards) && {
    if (!frame_) throw std::logic_error("[Task] started twice, or moved from");
    return frame_.promise().start(std::move(place), guards, frame_);
  }

 private:
  std::coroutine_handle<promise_type> frame_;
};

}  // namespace troupe

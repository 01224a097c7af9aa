// Coroutines: functions that wait for futures without holding a thread.
//
//   Task<Tensor> both(Scope& scope, Tensor x) {
//     const Future<Tensor> a = scope.rpc_async("ps0", &half, x);
//     const Tensor b = co_await scope.rpc_async("ps1", &half, x);
//     co_return add(co_await a, b);
//   }
//
// Registered and called like any function; its caller gets the Tensor. Between two waits a task runs on one pool thread,
// after a wait perhaps on another. Parameters that are references stay valid until the task is done.
#pragma once

#include <coroutine>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "actors/calls/scope_state.h"
#include "actors/future.h"

namespace troupe {

class Scope;

namespace detail {

/// The turn of a function that runs on the value of an RRef.
class TaskTurn {
 public:
  virtual ~TaskTurn() = default;
  /// The task is about to wait: others may use the value meanwhile.
  virtual void give_up() = 0;
  /// Tells `granted` when it is the task's turn again: at once if it has it. `granted` must not block.
  virtual void take_again(std::function<void()> granted) = 0;
  /// Runs a part of the task on this thread, during which blocking waits give the turn up too.
  virtual void run(const std::function<void()>& part) = 0;
};

/// What a task needs whenever it goes on, on whatever thread.
struct TaskPlace {
  FutureHome home;
  std::shared_ptr<const ScopeState> scope;  ///< whose calls and graph vertices these are; null: nobody's
  std::shared_ptr<TaskTurn> turn;           ///< null unless it runs on the value of an RRef
};

[[nodiscard]] TaskPlace place_of(const Scope& scope);

/// What becomes of the turn while a task waits.
enum class WaitingTurn : std::uint8_t {
  given_up,   ///< others may use the value
  passed_on,  ///< it goes with the task that is waited for, which runs in the same place and has it when it is done
};

/// Runs `frame` on the pool once `future` is done. If the pool has stopped, `refused` is told why instead, here.
void resume_after(FutureCore& future, std::shared_ptr<const TaskPlace> place, WaitingTurn turn, std::coroutine_handle<> frame,
                  std::function<void(const Error& why)> refused);

template <class T>
class TaskResult;

/// The promise type of a Task, but for how its result is returned. The frame belongs to the Task until it starts, then to
/// itself: it goes when its result is there.
template <class T>
class TaskPromise {
 public:
  Task<T> get_return_object() { return Task<T>(std::coroutine_handle<TaskResult<T>>::from_promise(static_cast<TaskResult<T>&>(*this))); }
  std::suspend_always initial_suspend() noexcept { return {}; }
  auto final_suspend() noexcept {
    struct Finish {
      TaskPromise& promise;
      // All locals are gone: now whoever waits may go on.
      bool await_ready() noexcept { return promise.keep(), true; }
      void await_suspend(std::coroutine_handle<>) noexcept {}
      void await_resume() noexcept {}
    };
    return Finish{*this};
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

  Future<T> start(std::shared_ptr<const TaskPlace> place, std::coroutine_handle<> frame) {
    place_ = std::move(place);
    promise_.emplace(place_->home);
    Future<T> future = promise_->future();
    frame.resume();
    return future;
  }

  /// `co_await future` inside the task: the value, or its Error thrown.
  template <class U>
  auto await_transform(Future<U> future, WaitingTurn turn = WaitingTurn::given_up) {
    struct Wait {
      Future<U> future;
      TaskPromise& promise;
      WaitingTurn turn;
      bool await_ready() const { return future.ready(); }
      void await_suspend(std::coroutine_handle<> frame) {
        // Once the future is told, the frame may go on elsewhere and end: nothing of it is touched after that.
        const std::shared_ptr<FutureState<Stored<U>>> state = future.shared_state();
        resume_after(*state, promise.place_, turn, frame, [&promise = promise, frame](const Error& why) { promise.abandon(why, frame); });
      }
      U await_resume() const { return future.get(); }
    };
    return Wait{std::move(future), *this, turn};
  }

  /// `co_await task`: starts it here, in the same place.
  template <class U>
  auto await_transform(Task<U> task) {
    return await_transform(std::move(task).start_in(place_), WaitingTurn::passed_on);
  }

 protected:
  std::optional<Result<Stored<T>>> result_;

 private:
  void keep() noexcept {
    if (result_) promise_->complete(*std::move(result_));
  }
  void abandon(const Error& why, std::coroutine_handle<> frame) {
    result_ = why;
    keep();
    frame.destroy();
  }

  std::shared_ptr<const TaskPlace> place_;
  std::optional<Promise<T>> promise_;
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

template <>
class TaskResult<void> final : public TaskPromise<void> {
 public:
  void return_void() { result_ = Result<Unit>(Unit{}); }
};

}  // namespace detail

/// A coroutine that has not begun. Serve it, `co_await` it in another task, or `start` it. Movable; one that is never
/// started does nothing. Belongs to one thread.
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

  /// Runs it on this thread up to its first wait. What it refers to must live until the future is done; if the node
  /// stops before, the future fails with shutting_down.
  Future<T> start(const Scope& scope) && { return std::move(*this).start_in(std::make_shared<detail::TaskPlace>(detail::place_of(scope))); }

  Future<T> start_in(std::shared_ptr<const detail::TaskPlace> place) && {
    const auto frame = std::exchange(frame_, nullptr);
    if (!frame) throw std::logic_error("[Task] started twice, or moved from");
    return frame.promise().start(std::move(place), frame);
  }

 private:
  std::coroutine_handle<promise_type> frame_;
};

}  // namespace troupe

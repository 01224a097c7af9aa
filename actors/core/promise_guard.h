// Guards that give an answer when the code that should give it is dropped: an unhandled message, a job that never runs.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "actors/future.h"

namespace troupe::detail {

/// Completes a promise with `otherwise` on destruction, unless it was completed before.
template <class T>
class PromiseGuard {
 public:
  using Value = typename Promise<T>::Value;

  PromiseGuard(Promise<T> promise, Result<Value> otherwise)
      : promise_(std::move(promise)), otherwise_(std::move(otherwise)) {}
  ~PromiseGuard() { promise_.complete(std::move(otherwise_)); }
  PromiseGuard(const PromiseGuard&) = delete;
  PromiseGuard& operator=(const PromiseGuard&) = delete;

  [[nodiscard]] Future<T> future() const { return promise_.future(); }
  /// Returns false if the future was completed before.
  bool complete(Result<Value> result) const { return promise_.complete(std::move(result)); }  // NOLINT(*-nodiscard)

 private:
  const Promise<T> promise_;
  Result<Value> otherwise_;
};

/// Calls `handler` with the arguments of the first call and ignores later calls. If it is never called, destroying the
/// last copy calls `otherwise` with `handler`. REQUIRES: that call does not throw. Copies are one handler; one thread
/// at a time.
template <class... Args>
class ToldOnce {
 public:
  using Handler = std::function<void(Args...)>;
  using Otherwise = std::function<void(const Handler&)>;

  ToldOnce(Handler handler, Otherwise otherwise)
      : keeper_(std::make_shared<Keeper>(std::move(handler), std::move(otherwise))) {}

  void operator()(Args... args) const {
    if (const Handler handler = std::exchange(keeper_->handler, nullptr)) handler(std::forward<Args>(args)...);
  }

 private:
  struct Keeper {
    Keeper(Handler h, Otherwise o) : handler(std::move(h)), otherwise(std::move(o)) {}
    ~Keeper() {
      if (handler) otherwise(handler);
    }
    Keeper(const Keeper&) = delete;
    Keeper& operator=(const Keeper&) = delete;

    Handler handler;
    const Otherwise otherwise;
  };

  std::shared_ptr<Keeper> keeper_;
};

/// Calls a function in its destructor, also when the message that carries it is dropped. REQUIRES: it does not block.
class WhenGone {
 public:
  explicit WhenGone(std::function<void()> then) : then_(std::move(then)) {}
  ~WhenGone() { then_(); }
  WhenGone(const WhenGone&) = delete;
  WhenGone& operator=(const WhenGone&) = delete;

 private:
  const std::function<void()> then_;
};

}  // namespace troupe::detail

// A value that will exist later, or the Error that explains why it will not. Completed exactly once.
//
// Thread rule: any thread may call any member of Future and Promise. `get` blocks in the runtime's one wait
// (wait_point.h), so a waiting pool thread gives its place to another function. Callbacks of `then` run and end, with
// all that they captured, on the node's pool, never on the thread that completes the future.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "actors/callable.h"
#include "actors/clock.h"
#include "actors/core/wait_point.h"
#include "actors/deadline.h"
#include "actors/executor.h"
#include "messages/error.h"

namespace troupe {

template <class T>
class Future;

namespace detail {

class ExceptionTypes;

/// For the futures of one node: the executor of callbacks, the clock, the registered exceptions, and what a thread does
/// that waits.
struct FutureHome {
  std::shared_ptr<Executor> executor;
  std::shared_ptr<Clock> clock;
  std::shared_ptr<const ExceptionTypes> exceptions = {};
  std::shared_ptr<WaitingWork> work = {};
};

[[nodiscard]] FutureHome future_home_of(const Scope& scope);

/// Returns the error of a cancelled future; also without memory, for stop callbacks, where no exception may end.
[[nodiscard]] Error cancelled_by_caller() noexcept;
/// Returns the error for the exception being handled, as a failure of `operation` on `node`. An exception of one of
/// `types` keeps its fields; a RemoteError from another node becomes the cause.
[[nodiscard]] Error error_of_current_exception(const NodeName& node, std::string operation,
                                               const ExceptionTypes* types);

/// Returns the error for the exception being handled while a received value is decoded: resource_exhausted if memory
/// ran out, device_out_of_memory if a GPU's did, the one of a RemoteError, else decode. Without memory texts are empty.
[[nodiscard]] Error error_of_decoding() noexcept;
/// Returns the Error in the place of a result whose copy or move has thrown the exception being handled.
[[nodiscard]] Error error_of_result() noexcept;
/// Throws the exception that `error` describes: one of `types`, or RemoteError.
[[noreturn]] void throw_error(const ExceptionTypes* types, const Error& error);

/// The part of a future's shared state that does not depend on the type.
class FutureCore {
 public:
  /// Called when the result exists (`refused` is null), or with the Error of a pool that refused to run the callback,
  /// for which there may be no memory. REQUIRES: it throws nothing then.
  using Callback = std::function<void(const Error* refused)>;

  explicit FutureCore(FutureHome home);
  virtual ~FutureCore();
  FutureCore(const FutureCore&) = delete;
  FutureCore& operator=(const FutureCore&) = delete;

  /// Returns false if the future was completed before.
  virtual bool fail(Error error) = 0;

  /// For `then`: fails with what its callback threw, the exception being handled. If nobody asks for the result, by
  /// `result` or `on_done`, the end of this future warns of that.
  void fail_with_thrown();
  /// For `then`: fails with `error` of `before`, and warns likewise if that was thrown.
  void skip(FutureCore& before, const Error& error) noexcept;

  /// Completes the future with a value that is not decoded yet. The first thread that asks for the value decodes it:
  /// user types are never decoded on the thread that received them. Returns false if the future was completed before.
  bool complete_later(std::shared_ptr<void> undecoded);

  [[nodiscard]] bool done() const { return done_.signalled(); }
  /// In a forked child, where nobody completes the future of a node, it fails with shutting_down; so in wait_for.
  void wait();
  [[nodiscard]] bool wait_for(Deadline limit);
  using Callbacks = std::list<std::shared_ptr<Callback>>;
  using Registration = Callbacks::iterator;
  /// Runs `callback` on the pool once the result exists. Throws std::bad_alloc; then it is not called.
  Registration on_done(Callback callback);  // NOLINT(modernize-use-nodiscard)
  /// As above, with the callback of `prepared`, which has the memory for its registration.
  Registration on_done(Callbacks prepared) noexcept;
  [[nodiscard]] static Callbacks prepared(Callback callback);
  /// Keeps `held` until the result exists: it ends before any wait for that does. REQUIRES: its end does not block and
  /// runs no user code.
  void hold_until_done(std::shared_ptr<void> held);
  /// Drops a callback, unless the result exists: then it is called all the same. What it captured may end on the
  /// calling thread. REQUIRES: no other call for this registration.
  void forget(Registration registration);

  [[nodiscard]] const FutureHome& home() const { return home_; }
  /// Stops when the future is cancelled. For the code that computes the result.
  [[nodiscard]] std::stop_token stop_token() const { return stop_.get_token(); }
  /// Asks the code that computes the result to stop: it is no longer needed.
  void request_stop() { stop_.request_stop(); }

 protected:
  /// Returns true to exactly one caller, which may then set the result.
  [[nodiscard]] bool claim();
  /// Ends all waits and submits the callbacks to the pool. REQUIRES: the result is set.
  void publish();
  /// Returns what the calling thread has to decode, before it calls `decoding_ended`. Returns null if there is nothing
  /// to decode; if another thread decodes, waits for it.
  [[nodiscard]] std::shared_ptr<void> begin_decoding();
  void decoding_ended() { decoded_.signal(); }

 private:
  void end_if_forked();
  void run_on_pool(std::shared_ptr<Callback> callback) noexcept;
  static void refuse(const std::shared_ptr<Callback>& callback, const Error& why);

  const FutureHome home_;
  std::stop_source stop_;
  WaitPoint done_;
  WaitPoint decoded_;
  std::mutex mutex_;
  bool claimed_ = false;                   // guarded by mutex_
  bool published_ = false;                 // guarded by mutex_
  bool decoding_ = false;                  // guarded by mutex_
  Callbacks callbacks_;                    // guarded by mutex_
  std::list<std::shared_ptr<void>> held_;  // guarded by mutex_
  std::shared_ptr<void> undecoded_;        // guarded by mutex_ once published
  std::shared_ptr<const Error> thrown_;    // guarded by mutex_; by the callback, or one before it
  bool is_asked_for_ = false;              // guarded by mutex_
};

/// Returns what the copies of a promise hold. The last holder's end fails `future` if it was not completed.
[[nodiscard]] std::shared_ptr<const void> keeper_of(std::shared_ptr<FutureCore> future);

template <class T>
class FutureState final : public FutureCore {
 public:
  /// Decodes what `complete_later` was given. What it throws becomes the future's Error.
  using Decode = T (*)(void* undecoded);

  explicit FutureState(FutureHome home, Decode decode = nullptr) : FutureCore(std::move(home)), decode_(decode) {}

  /// Returns false if the future was completed before.
  bool complete(Result<T> result) {
    if (!claim()) return false;
    try {
      result_.emplace(std::move(result));
    } catch (...) {
      result_.emplace(error_of_result());
    }
    publish();
    return true;
  }

  bool fail(Error error) override { return complete(std::move(error)); }

  /// Returns the same object to every caller. REQUIRES: done().
  const Result<T>& result() {
    if (const std::shared_ptr<void> undecoded = begin_decoding()) {
      try {
        result_.emplace(decode_(undecoded.get()));
      } catch (...) {
        result_.emplace(error_of_decoding());
      }
      decoding_ended();
    }
    return *result_;
  }

  /// Ends the result, if there is one. REQUIRES: nobody asks for it any more, or completes the future with a value.
  void end_result() {
    if (done()) result_.reset();
  }

 private:
  const Decode decode_;
  std::optional<Result<T>> result_;  // written by the claimer or the decoder, read once it is done or decoded
};

}  // namespace detail

/// The writing end of a Future. Destroying the last copy without completing it fails the future with `internal`.
template <class T>
class Promise {
 public:
  using Value = detail::Stored<T>;

  /// Callbacks on its future run on the pool of the scope's node.
  explicit Promise(const Scope& scope) : Promise(detail::future_home_of(scope)) {}

  explicit Promise(detail::FutureHome home)
      : state_(std::make_shared<detail::FutureState<Value>>(std::move(home))), keeper_(detail::keeper_of(state_)) {}

  /// Returns false if the future was completed before.
  bool complete(Result<Value> result) const { return state_->complete(std::move(result)); }

  [[nodiscard]] Future<T> future() const { return Future<T>(state_); }

 private:
  std::shared_ptr<detail::FutureState<Value>> state_;
  std::shared_ptr<const void> keeper_;
};

/// A handle: copies refer to the same future. A default-constructed one has no value and throws on use.
template <class T>
class Future {
 public:
  using Value = detail::Stored<T>;
  using State = detail::FutureState<Value>;

  Future() = default;
  explicit Future(std::shared_ptr<State> state) : state_(std::move(state)) {}

  [[nodiscard]] bool valid() const noexcept { return state_ != nullptr; }
  [[nodiscard]] bool ready() const { return state().done(); }

  /// Waits and returns the value; may be called again. Throws RemoteError, or the function's own exception if its type
  /// is registered (exceptions.h).
  T get() const {
    state().wait();
    const Result<Value>& result = state().result();
    if (!result) detail::throw_error(state().home().exceptions.get(), result.error());
    if constexpr (!std::is_void_v<T>) return result.value();
  }

  /// Waits at most `limit`. Returns nullopt if there is no result by then; the request continues.
  [[nodiscard]] std::optional<Result<Value>> get_for(Deadline limit) const {
    if (!state().wait_for(limit)) return std::nullopt;
    return state().result();
  }

  /// Fails the future with `cancelled` unless it is done, and asks the code that computes it to stop: a called function
  /// sees that on its scope's stop_token, and so do the functions that it calls. Returns whether the future was still
  /// open. Cancelling a future made by `then` or Task::start stops neither the future that it follows nor the task.
  bool cancel() const {  // NOLINT(modernize-use-nodiscard)
    if (!state().complete(detail::cancelled_by_caller())) return false;
    state().request_stop();
    return true;
  }

  /// Runs `callback` on the pool when the result exists. Returns the future of the callback's result. A callback that
  /// takes the value is skipped on an error, which passes to the returned future; one that takes a Result sees both. An
  /// exception of the callback fails the returned future; if nobody reads that, the log warns of it.
  template <class Callback>
  auto then(Callback callback) const {
    constexpr bool takes_result = std::is_invocable_v<Callback, const Result<Value>&>;
    constexpr bool takes_value = detail::takes_value<Callback, T>();
    static_assert(takes_result || takes_value, "a callback of a future takes its value, or a Result of it");
    if constexpr (takes_result) {
      return chain<std::invoke_result_t<Callback, const Result<Value>&>, false>(std::move(callback));
    } else if constexpr (takes_value && std::is_void_v<T>) {
      return chain<std::invoke_result_t<Callback>, true>(
          [callback = std::move(callback)](const Result<Value>&) mutable { return callback(); });
    } else if constexpr (takes_value) {
      return chain<std::invoke_result_t<Callback, T>, true>(
          [callback = std::move(callback)](const Result<Value>& result) mutable { return callback(result.value()); });
    }
  }

  /// Throws as state().
  [[nodiscard]] const std::shared_ptr<State>& shared_state() const { return static_cast<void>(state()), state_; }

  [[nodiscard]] State& state() const {
    if (!state_) throw std::logic_error("[Future] used without a value: it was default-constructed");
    return *state_;
  }

 private:
  template <class U, bool skips_errors, class Callback>
  Future<U> chain(Callback callback) const {
    Promise<U> promise(state().home());
    state().on_done([state = state_, promise, callback = std::move(callback)](const Error* refused) mutable {
      if (refused != nullptr) return static_cast<void>(promise.complete(copy_of(*refused)));
      auto& next = promise.future().state();
      if (skips_errors && !state->result()) return next.skip(*state, state->result().error());
      try {
        if constexpr (std::is_void_v<U>) {
          callback(state->result());
          promise.complete(Unit{});
        } else {
          promise.complete(callback(state->result()));
        }
      } catch (...) {
        next.fail_with_thrown();
      }
    });
    return promise.future();
  }

  std::shared_ptr<State> state_;
};

}  // namespace troupe

// The function of a stream on the node that runs it.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "actors/task.h"
#include "autograd/frame_guards.h"
#include "messages/archive.h"

namespace troupe {

template <class T>
class Stream;

namespace detail {

template <class T>
class StreamBody;

/// Runs `part` while the function that called, if any, has no turn on a value: it may be on the stream's own. Throws as
/// `part` does.
void run_without_turns(const std::function<void()>& part);

/// Waits for the turn on the value, and runs a part of a stream's function in it. Throws as `part` does. If `reader` is
/// not null, throws RemoteError{timeout} at its deadline, without having run `part`.
void take_turn_for(TaskTurn& turn, const Scope* reader, const std::function<void()>& part);

/// Runs what is left of an element's turn, and gives the turn up. Throws as `part` does.
void end_turn_with(TaskTurn& turn, const std::function<void()>& part);

/// Destroys `function`, of which this is the last owner, on the pool in its next turn, and then lets the value go. Does
/// not wait. Destroys it without the turn if the pool has stopped, or without memory to ask for the turn.
void end_in_turn(std::shared_ptr<TaskTurn> turn, std::shared_ptr<void> function) noexcept;

/// Who may run the function of a stream: a reader of this node, one element at a time, or the one to whom it was sent.
/// Thread rule: any thread may call any member.
class StreamClaim {
 public:
  /// Returns true to one caller, which may send the stream: a running function has one owner.
  [[nodiscard]] bool send();
  /// The message with the stream, to which `send` returned true, was never sent.
  void take_back() noexcept { state_ = State::free; }
  [[nodiscard]] bool was_sent() const { return state_ == State::sent; }

  /// Throws std::logic_error if the stream was sent, or is being read.
  void begin_reading();
  void end_reading() { state_ = State::free; }

 private:
  enum class State : std::uint8_t { free, read_here, sent };
  std::atomic<State> state_{State::free};
};

/// Owns the frame of a stream's function, and what that refers to.
template <class T>
struct StreamFrame {
  StreamFrame() = default;
  ~StreamFrame() {
    if (frame) frame.promise().guards.destroy(frame);
  }
  StreamFrame(const StreamFrame&) = delete;
  StreamFrame& operator=(const StreamFrame&) = delete;

  std::shared_ptr<void> parameters;
  std::coroutine_handle<StreamBody<T>> frame;
};

/// The function of a stream, on its own node. One thread at a time uses it: the value's owner grants turns. Its end
/// waits for nothing; on a value the function ends in a turn of its own.
template <class T>
class StreamSource {
 public:
  explicit StreamSource(std::coroutine_handle<StreamBody<T>> frame) : function_(std::make_shared<StreamFrame<T>>()) {
    function_->frame = frame;
  }
  ~StreamSource() {
    stop();
    if (turn_) end_in_turn(std::move(turn_), std::move(function_));
  }
  StreamSource(const StreamSource&) = delete;
  StreamSource& operator=(const StreamSource&) = delete;

  /// Runs the function up to its next element, unless it has ended. Throws an exception of the function, once. On a
  /// value it has its turn until the element has been taken.
  void advance() { advance_for(nullptr); }

  /// Takes the last element made; nullopt after the end.
  void save_element(OutArchive& archive) {
    take_element([&](std::optional<T>& element) { archive(element); });
  }

  /// Cancels the calls that the function makes. Any thread may call it, also while the function runs.
  void stop() { scope_stop_.request_stop(); }

  /// Keeps alive the objects that the function refers to. `scope_stop` stops its Scope. `turn`, null unless it runs on
  /// the value of an RRef, keeps that value, is given up now, and is taken for each element. REQUIRES: called before
  /// the stream is sent.
  void keep(std::shared_ptr<void> parameters, std::stop_source scope_stop, std::shared_ptr<TaskTurn> turn) {
    function_->parameters = std::move(parameters);
    scope_stop_ = std::move(scope_stop);
    turn_ = std::move(turn);
    if (turn_) turn_->give_up();
  }

  /// Returns the next element to a reader of this node. Throws as StreamClaim::begin_reading and as advance; on a value
  /// RemoteError{timeout} if others have the turn until the deadline of `scope`.
  std::optional<T> next(const Scope& scope) {
    claim_.begin_reading();
    struct End {
      StreamClaim& claim;
      ~End() { claim.end_reading(); }
    } const end{claim_};
    std::optional<T> next;
    const auto read = [&] {
      advance_for(&scope);
      take_element([&](std::optional<T>& element) { next = std::move(element); });
    };
    turn_ ? run_without_turns(read) : read();
    return next;
  }

  [[nodiscard]] StreamClaim& claim() { return claim_; }

 private:
  [[nodiscard]] std::coroutine_handle<StreamBody<T>> frame() const { return function_->frame; }
  [[nodiscard]] std::optional<T>& element() { return frame().promise().element; }

  void advance_for(const Scope* reader) {
    element().reset();
    if (frame().done()) return;
    const auto resume = [this] { frame().promise().guards.resume(frame()); };
    if (!turn_) return resume();
    const LetGo let_go{*this};
    take_turn_for(*turn_, reader, resume);
  }

  template <class Take>
  void take_element(const Take& take) {
    turn_ ? end_turn_with(*turn_, [&] { take(element()); }) : take(element());
  }

  /// Once the function has ended, others may have the value for themselves.
  struct LetGo {
    StreamSource& source;
    ~LetGo() {
      if (source.frame().done()) source.turn_.reset();
    }
  };

  std::shared_ptr<TaskTurn> turn_;                 // outlives the frame; null once the function has ended
  std::stop_source scope_stop_{std::nostopstate};  // of the function's Scope, once `keep` was called
  std::shared_ptr<StreamFrame<T>> function_;       // not shared; a pointer for end_in_turn
  StreamClaim claim_;
};

/// The promise type of a Stream.
template <class T>
class StreamBody {
 public:
  std::optional<T> element;
  FrameGuards guards;

  Stream<T> get_return_object() {
    return Stream<T>(std::make_shared<StreamSource<T>>(std::coroutine_handle<StreamBody>::from_promise(*this)));
  }
  std::suspend_always initial_suspend() noexcept { return {}; }
  std::suspend_always final_suspend() noexcept { return {}; }
  std::suspend_always yield_value(T value) {
    element.emplace(std::move(value));
    guards.keep();
    return {};
  }
  void return_void() noexcept {}
  void unhandled_exception() {
    element.reset();
    throw;
  }
  template <class U>
  void await_transform(U&&) = delete;  // a stream waits with get()
};

}  // namespace detail
}  // namespace troupe

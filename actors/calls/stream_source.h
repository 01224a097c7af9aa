// The function of a stream on the node that runs it.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "autograd/frame_guards.h"
#include "messages/archive.h"

namespace troupe {

template <class T>
class Stream;

namespace detail {

template <class T>
class StreamBody;

/// Who may run the function of a stream: a reader of this node, one element at a time, or the one to whom it was sent.
/// Thread rule: any thread may call any member.
class StreamClaim {
 public:
  /// Returns true to one caller, which may send the stream: a running function has one owner.
  [[nodiscard]] bool send();
  [[nodiscard]] bool was_sent() const { return state_ == State::sent; }

  /// Throws std::logic_error if the stream was sent, or is being read.
  void begin_reading();
  void end_reading() { state_ = State::free; }

 private:
  enum class State : std::uint8_t { free, read_here, sent };
  std::atomic<State> state_{State::free};
};

/// The function of a stream, on its own node. One thread at a time uses it: the value's owner grants turns.
template <class T>
class StreamSource {
 public:
  explicit StreamSource(std::coroutine_handle<StreamBody<T>> frame) : frame_(frame) {}
  ~StreamSource() {
    stop();
    frame_.promise().guards.destroy(frame_);
  }
  StreamSource(const StreamSource&) = delete;
  StreamSource& operator=(const StreamSource&) = delete;

  /// Runs the function up to its next element, unless it has ended. Throws an exception of the function, once.
  void advance() {
    element().reset();
    if (!frame_.done()) frame_.promise().guards.resume(frame_);
  }

  /// The last element made; nullopt after the end.
  [[nodiscard]] std::optional<T>& element() { return frame_.promise().element; }

  void save_element(OutArchive& archive) { archive(element()); }

  /// Cancels the calls that the function makes. Any thread may call it, also while the function runs.
  void stop() { scope_stop_.request_stop(); }

  /// Keeps alive the objects that the function refers to. `scope_stop` stops its Scope. REQUIRES: called before the
  /// stream is sent.
  void keep(std::shared_ptr<void> parameters, std::stop_source scope_stop) {
    parameters_ = std::move(parameters);
    scope_stop_ = std::move(scope_stop);
  }

  /// Returns the next element to a reader of this node. Throws as StreamClaim::begin_reading and as advance.
  std::optional<T> next() {
    claim_.begin_reading();
    struct End {
      StreamClaim& claim;
      ~End() { claim.end_reading(); }
    } const end{claim_};
    advance();
    return std::move(element());
  }

  [[nodiscard]] StreamClaim& claim() { return claim_; }

 private:
  std::shared_ptr<void> parameters_;               // outlives the frame
  std::stop_source scope_stop_{std::nostopstate};  // of the function's Scope, once `keep` was called
  std::coroutine_handle<StreamBody<T>> frame_;
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

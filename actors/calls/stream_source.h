// The function of a stream on the node that runs it.
#pragma once

#include <coroutine>
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

  /// Returns true to one caller, which may send the stream: a running function has one owner.
  [[nodiscard]] bool claim() { return !std::exchange(claimed_, true); }

 private:
  std::shared_ptr<void> parameters_;               // outlives the frame
  std::stop_source scope_stop_{std::nostopstate};  // of the function's Scope, once `keep` was called
  std::coroutine_handle<StreamBody<T>> frame_;
  bool claimed_ = false;
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

// Streams: a served function sends its caller one element after the other, as fast as the caller reads them.
//
//   Stream<int> count(int to) { for (int i = 0; i < to; ++i) co_yield i; }
//
//   for (const int i : node.rpc_sync("ps0", &count, 3).read(node)) ...
//
// The function is a coroutine on its node's pool. It is at most `ahead` elements ahead of the reader. When the last
// copy of the stream is destroyed, the function is destroyed where it is suspended. It waits for futures with `get`: it
// cannot use co_await. Its parameters and its Scope live as long as it does. Its calls through that Scope are cancelled
// when the stream is dropped. Each may take as long as the call that started it, or as `scope.with({.deadline = ...})`
// says. A guard that it holds over a co_yield (a NoGradGuard, for example) acts for all elements that follow, but only
// in the function.
//
// A function that runs on the value of an RRef keeps that value until it ends or is dropped. It takes turns with other
// functions on it: it has its turn while it makes an element, and they may change the value in between. If it is
// dropped, its locals are destroyed on the pool, in its next turn.
//
// If an element has a Variable, its gradient goes to the context of the `next` that requests the element. So within a
// context, `next` requests only its own such element, and none ahead. Outside a context it also requests such elements
// ahead, unless `ahead(1)` is set; reading those in a context fails with bad_argument. After a timeout, call `next`
// again in the same context. If that context has ended, any scope may read the element, but no gradient flows back to
// the function.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "actors/calls/stream_source.h"
#include "actors/rref.h"

namespace troupe {

namespace detail {

/// The requested elements of another node's stream. One thread at a time may use it.
template <class T>
struct StreamReader {
  /// The most requests under way, whatever the reader allows. Each counts as a call that has not begun (SE-2) until its
  /// element is being made: without this bound they could use up the peer's grant, and this node could make no other
  /// call there.
  static constexpr std::size_t kAskedMax = 128;

  struct Asked {
    Future<std::optional<T>> element;
    std::optional<ContextId> context;  // nullopt: outside a context
  };

  explicit StreamReader(std::shared_ptr<RRefHandle> h) : handle(std::move(h)) {}
  ~StreamReader() { stop(); }
  StreamReader(const StreamReader&) = delete;
  StreamReader& operator=(const StreamReader&) = delete;

  /// Cancels the requests: the reader needs no further element.
  void stop() {
    ended = true;
    for (const Asked& each : std::exchange(asked, {})) each.element.cancel();
  }

  const std::shared_ptr<RRefHandle> handle;
  std::size_t ahead = 8;    // at most kAskedMax
  std::size_t window = 8;   // how many are requested at once: one more with each element that was read
  std::deque<Asked> asked;  // in order
  bool ended = false;
};

/// Returns the scope in which a stream that is read in `scope` requests elements. These may come after the end of the
/// call or WaitAllScope that `scope` belongs to, unless that call is cancelled.
[[nodiscard]] Scope scope_of_requests(const Scope& scope);

/// Whether elements of type T may carry gradients.
template <class T>
[[nodiscard]] bool may_carry_gradients() {
  static const bool may = schema_of<T>().find("variable") != std::string::npos;
  return may;
}

/// Returns whether `scope` is of another context than the requests that are under way, and that one still lives.
[[nodiscard]] bool is_elsewhere(const Scope& scope, const std::optional<ContextId>& asked_in);

/// Throws the RemoteError{bad_argument} of a reader that is_elsewhere than the `count` requests under way.
[[noreturn]] void refuse_elsewhere(const Scope& scope, const std::optional<ContextId>& asked_in, std::size_t count,
                                   const RRefHandle& stream);

/// Waits for `element`, within the deadline of `scope`. Throws RemoteError{timeout}.
void wait_for_element(const Scope& scope, FutureCore& element, const RRefHandle& stream);

/// Makes this node the owner of a stream's source and writes a handle of it. Throws EncodeError unless `claim`, a part
/// of the source, may be sent. If the message never is, the source may be read and sent again.
void save_stream(OutArchive& archive, ValueBox source, const std::shared_ptr<StreamClaim>& claim,
                 const std::string& type);

}  // namespace detail

/// A handle: copies are the same stream. Travels in results, arguments and other values until a reader starts on it. A
/// default-constructed one is empty. Thread rule: one thread at a time.
template <class T>
class Stream {
 public:
  using promise_type = detail::StreamBody<T>;
  using Element = T;

  Stream() = default;
  explicit Stream(std::shared_ptr<detail::StreamSource<T>> source) : source_(std::move(source)) {}
  explicit Stream(std::shared_ptr<detail::RRefHandle> handle)
      : reader_(std::make_shared<detail::StreamReader<T>>(std::move(handle))) {}

  /// Waits for the next element; nullopt after the last one. Throws RemoteError, or the function's own exception if its
  /// type is registered; both end the stream. A timeout does not end it: the next call returns the same element. If
  /// the function runs on this node, it runs on this thread; the deadline then limits only the wait for its turn.
  /// Throws std::logic_error if the function runs on this node and the stream was sent; RemoteError{bad_argument} if
  /// the next element may carry a gradient and was requested in another context, or in none.
  std::optional<T> next(const Scope& scope) {
    if (source_) return source_->next(scope);
    if (!ask(scope)) return std::nullopt;
    detail::wait_for_element(scope, reader_->asked.front().element.state(), *reader_->handle);
    const Future<std::optional<T>> first = std::move(reader_->asked.front().element);
    reader_->asked.pop_front();
    try {
      std::optional<T> element = first.get();
      if (!element) reader_->stop();
      else if (reader_->window < reader_->ahead) ++reader_->window;
      return element;
    } catch (...) {
      reader_->stop();
      throw;
    }
  }

  /// Sets how many elements the function may make before they are read: at least 1, at most 128, default 8. Beyond 8,
  /// one more is allowed with each element that is read.
  Stream& ahead(std::size_t elements) {
    constexpr std::size_t most = detail::StreamReader<T>::kAskedMax;
    if (reader_) reader_->ahead = elements == 0 ? 1 : elements < most ? elements : most;
    return *this;
  }

  /// Returns the rest of the stream for a range-based for loop, which calls `next(scope)` each time.
  [[nodiscard]] auto read(const Scope& scope) const { return Elements{*this, scope}; }

  /// Keeps `parameters` alive as long as the function may continue. `scope_stop` is requested when the stream is
  /// dropped. `turn`: of a function that runs on the value of an RRef, or null.
  void keep(std::shared_ptr<void> parameters, std::stop_source scope_stop,
            std::shared_ptr<detail::TaskTurn> turn) const {
    if (source_) source_->keep(std::move(parameters), std::move(scope_stop), std::move(turn));
  }

 private:
  friend struct WireFormat<Stream>;

  class Elements {
   public:
    Elements(Stream stream, Scope scope) : stream_(std::move(stream)), scope_(std::move(scope)) {}
    /// Waits for the next element on construction and on increment.
    class Iterator {
     public:
      using iterator_category = std::input_iterator_tag;
      using value_type = T;
      using difference_type = std::ptrdiff_t;
      explicit Iterator(Elements& elements) : elements_(&elements) { ++*this; }
      T& operator*() const { return *elements_->element_; }
      T* operator->() const { return &*elements_->element_; }
      Iterator& operator++() {
        elements_->element_ = elements_->stream_.next(elements_->scope_);
        return *this;
      }
      void operator++(int) { ++*this; }
      bool operator==(std::default_sentinel_t) const { return !elements_->element_; }

     private:
      Elements* elements_;
    };
    [[nodiscard]] Iterator begin() { return Iterator(*this); }
    [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

   private:
    Stream stream_;
    Scope scope_;
    std::optional<T> element_;
  };

  /// Waits for an element that was requested outside a context. Returns whether there is none: it may be read anywhere.
  bool is_over(const Scope& scope) const {
    if (reader_->asked.front().context) return false;
    auto& first = reader_->asked.front().element.state();
    detail::wait_for_element(scope, first, *reader_->handle);
    const auto& element = first.result();
    return !element || !element.value();
  }

  /// Requests elements up to the window. Returns false if there are no more.
  bool ask(const Scope& scope) {
    if (!reader_) return false;
    const bool in_its_context = detail::may_carry_gradients<T>();
    auto& asked = reader_->asked;
    if (in_its_context && !asked.empty() && detail::is_elsewhere(scope, asked.front().context) && !is_over(scope)) {
      const auto count = std::ranges::count(asked, asked.front().context, &detail::StreamReader<T>::Asked::context);
      detail::refuse_elsewhere(scope, asked.front().context, static_cast<std::size_t>(count), *reader_->handle);
    }
    const std::size_t most = in_its_context && scope.state().context ? 1 : reader_->ahead;
    const std::size_t wanted = reader_->window < most ? reader_->window : most;
    if (asked.size() < wanted && !reader_->ended) {
      const Scope lasting = detail::scope_of_requests(scope);
      bool has_failed = false;  // at once: so would the others
      while (asked.size() < wanted && !has_failed) {
        auto expected = detail::expect<std::optional<T>>(lasting.shared_state());
        detail::fetch(lasting.state(), {reader_->handle}, msg::Wanted::element, *expected.call, {});
        has_failed = expected.future.ready() && !expected.future.state().result();
        asked.push_back({std::move(expected.future), lasting.state().context});
      }
    }
    return !asked.empty();
  }

  std::shared_ptr<detail::StreamSource<T>> source_;  // set if the function runs on this node
  std::shared_ptr<detail::StreamReader<T>> reader_;  // set if it runs elsewhere, or the stream came in a message
};

/// A stream travels as a reference to its function. A stream that is being read, or was sent before, does not travel.
template <class T>
struct WireFormat<Stream<T>> {
  static constexpr bool kTravels = Travels<T>;
  static void save(OutArchive& archive, const Stream<T>& stream) {
    if (stream.source_) {
      return detail::save_stream(archive, {stream.source_, &detail::value_ops<detail::StreamSource<T>>()},
                                 {stream.source_, &stream.source_->claim()}, schema_of<Stream<T>>());
    }
    if (stream.reader_ && (stream.reader_->ended || !stream.reader_->asked.empty())) {
      throw EncodeError(ErrorCode::not_serializable, "[encode] the stream is being read");
    }
    detail::save_rref(archive, stream.reader_ ? stream.reader_->handle : nullptr);
  }
  static void load(InArchive& archive, Stream<T>& stream) {
    auto handle = detail::load_rref(archive);
    stream = handle ? Stream<T>(std::move(handle)) : Stream<T>();
  }
  template <class Schema>
  static void describe(Schema& schema) {
    schema.template list<T>("stream");
  }
};

namespace detail {
template <class T>
inline constexpr bool is_stream = false;
template <class T>
inline constexpr bool is_stream<Stream<T>> = true;
}  // namespace detail
}  // namespace troupe

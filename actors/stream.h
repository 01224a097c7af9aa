// Streams: a served function gives its caller one element after the other, as fast as they are read.
//
//   Stream<int> count(int to) { for (int i = 0; i < to; ++i) co_yield i; }
//
//   for (const int i : node.rpc_sync("ps0", &count, 3).read(node)) ...
//
// The function is a coroutine that runs on its node's pool, never further ahead of the reader than `ahead` elements, and
// ends where it stands when the last copy of the stream goes. It waits for others with `get`. Its parameters and its
// Scope live as long as it does, and what it calls through that Scope has the deadline of the call that began it: for a
// long stream, `scope.with({.deadline = Deadline::while_peer_lives()})`.
#pragma once

#include <algorithm>
#include <coroutine>
#include <cstddef>
#include <deque>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "actors/rref.h"

namespace troupe {

template <class T>
class Stream;

namespace detail {

template <class T>
class StreamBody;

/// The function of a stream, on its own node. Belongs to one thread at a time: the owner of a value grants turns.
template <class T>
class StreamSource {
 public:
  explicit StreamSource(std::coroutine_handle<StreamBody<T>> frame) : frame_(frame) {}
  ~StreamSource() { frame_.destroy(); }
  StreamSource(const StreamSource&) = delete;
  StreamSource& operator=(const StreamSource&) = delete;

  /// Runs the function up to its next element, if it has not ended. Throws what the function throws, once.
  void advance() {
    element().reset();
    if (!frame_.done()) frame_.resume();
  }

  /// The last one made; nothing after the end.
  [[nodiscard]] std::optional<T>& element() { return frame_.promise().element; }

  void save_element(OutArchive& archive) { archive(element()); }

  /// What the function refers to.
  void keep(std::shared_ptr<void> parameters) { parameters_ = std::move(parameters); }

  /// True for the one who may send it: what runs on one node has one owner.
  [[nodiscard]] bool claim() { return !std::exchange(claimed_, true); }

 private:
  std::shared_ptr<void> parameters_;  // outlives the frame
  std::coroutine_handle<StreamBody<T>> frame_;
  bool claimed_ = false;
};

/// The promise type of a Stream.
template <class T>
class StreamBody {
 public:
  std::optional<T> element;

  Stream<T> get_return_object() {
    return Stream<T>(std::make_shared<StreamSource<T>>(std::coroutine_handle<StreamBody>::from_promise(*this)));
  }
  std::suspend_always initial_suspend() noexcept { return {}; }
  std::suspend_always final_suspend() noexcept { return {}; }
  std::suspend_always yield_value(T value) {
    element.emplace(std::move(value));
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

/// The elements of another node's stream that are asked for. Belongs to one thread at a time.
template <class T>
struct StreamReader {
  explicit StreamReader(std::shared_ptr<RRefHandle> h) : handle(std::move(h)) {}
  ~StreamReader() { stop(); }
  StreamReader(const StreamReader&) = delete;
  StreamReader& operator=(const StreamReader&) = delete;

  /// Nobody wants the rest.
  void stop() {
    ended = true;
    for (const Future<std::optional<T>>& element : std::exchange(asked, {})) element.cancel();
  }

  const std::shared_ptr<RRefHandle> handle;
  std::size_t ahead = 8;
  std::deque<Future<std::optional<T>>> asked;  // in order
  bool ended = false;
};

/// Waits for `element` as long as a call through `scope` may take. Throws RemoteError{timeout}.
void wait_for_element(const Scope& scope, FutureCore& element, const RRefHandle& stream);

/// Makes this node the owner of a stream's source and writes a handle of it.
void save_stream(OutArchive& archive, ValueBox source, const std::string& type);

}  // namespace detail

/// A handle: copies are the same stream. Travels in results, arguments and other values until somebody begins to read it.
/// A default-constructed one is empty. Thread rule: one thread at a time.
template <class T>
class Stream {
 public:
  using promise_type = detail::StreamBody<T>;
  using Element = T;

  Stream() = default;
  explicit Stream(std::shared_ptr<detail::StreamSource<T>> source) : source_(std::move(source)) {}
  explicit Stream(std::shared_ptr<detail::RRefHandle> handle) : reader_(std::make_shared<detail::StreamReader<T>>(std::move(handle))) {}

  /// Waits for the next element; nothing after the last one. Throws RemoteError, or what the function threw if that type
  /// is registered: then the stream has ended. After a timeout it has not: the element still comes.
  std::optional<T> next(const Scope& scope) {
    if (source_) {
      source_->advance();
      return std::move(source_->element());
    }
    if (!ask(scope)) return std::nullopt;
    detail::wait_for_element(scope, reader_->asked.front().state(), *reader_->handle);
    const Future<std::optional<T>> first = reader_->asked.front();
    reader_->asked.pop_front();
    try {
      std::optional<T> element = first.get();
      if (!element) reader_->stop();
      return element;
    } catch (...) {
      reader_->stop();
      throw;
    }
  }

  /// How many elements may be made before they are read; at least 1, 8 unless set.
  Stream& ahead(std::size_t elements) {
    if (reader_) reader_->ahead = std::max<std::size_t>(elements, 1);
    return *this;
  }

  /// The rest of the stream, for a range-based for loop; `next(scope)` each time.
  [[nodiscard]] auto read(const Scope& scope) const { return Elements{*this, scope}; }

  /// Keeps `parameters` for as long as the function may go on.
  void keep(std::shared_ptr<void> parameters) const {
    if (source_) source_->keep(std::move(parameters));
  }

 private:
  friend struct WireFormat<Stream>;

  class Elements {
   public:
    Elements(Stream stream, Scope scope) : stream_(std::move(stream)), scope_(std::move(scope)) {}
    /// Waits for the next element when it is made and moved on.
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

  /// Asks for as many elements as may be under way; false if there are no more.
  bool ask(const Scope& scope) {
    if (!reader_) return false;
    if (reader_->asked.size() < reader_->ahead && !reader_->ended) {
      const Scope lasting = scope.with({.deadline = Deadline::while_peer_lives()});
      while (reader_->asked.size() < reader_->ahead) {
        reader_->asked.push_back(detail::expect<std::optional<T>>(lasting.shared_state(), [&](detail::OutgoingCall& call) {
          detail::fetch(lasting.state(), {reader_->handle}, msg::Wanted::element, call, {});
        }));
      }
    }
    return !reader_->asked.empty();
  }

  std::shared_ptr<detail::StreamSource<T>> source_;  // it runs here
  std::shared_ptr<detail::StreamReader<T>> reader_;  // it runs elsewhere, or came through a message
};

/// A stream travels as a reference to its function. One that is being read, or was sent before, does not.
template <class T>
struct WireFormat<Stream<T>> {
  static constexpr bool kTravels = Travels<T>;
  static void save(OutArchive& archive, const Stream<T>& stream) {
    if (stream.source_) {
      if (!stream.source_->claim()) throw EncodeError(ErrorCode::not_serializable, "[encode] the stream was sent before");
      return detail::save_stream(archive, {stream.source_, &detail::value_ops<detail::StreamSource<T>>()}, schema_of<Stream<T>>());
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

// Failures outside a caller's own code, as a value that travels and as the exception that carries it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "messages/ids.h"

namespace troupe {

/// Stable numbers: they are on the wire. A code exists only if a caller could react to it.
enum class ErrorCode : std::uint16_t {
  timeout = 1,              ///< the deadline passed first
  peer_down = 2,            ///< the peer's process or machine is gone
  peer_unreachable = 3,     ///< the peer may live, but no message gets through
  peer_restarted = 4,       ///< the name is alive again as a new incarnation
  cancelled = 5,            ///< the caller cancelled
  shutting_down = 6,        ///< this node or the peer is stopping
  remote_exception = 7,     ///< the function threw
  no_such_function = 8,     ///< not in the callee's registry
  bad_argument = 9,         ///< argument types or values do not fit
  not_serializable = 10,    ///< a value cannot travel
  too_large = 11,           ///< above a configured limit
  resource_exhausted = 12,  ///< a quota or pool is full
  device_out_of_memory = 13,
  owner_died = 14,       ///< the node that owned the referenced value is gone
  ref_revoked = 15,      ///< the reference was never acknowledged, or its value was already released
  context_aborted = 16,  ///< the autograd context ended early; `cause` has the reason
  step_not_applied = 17,
  step_unknown = 18,
  decode = 19,              ///< malformed bytes
  protocol_violation = 20,  ///< a message that is not allowed here or now
  version_mismatch = 21,
  auth_failed = 22,
  not_authorized = 23,
  name_in_use = 24,
  invalid_name = 25,
  not_joined = 26,  ///< no node of that name in this cluster
  missing_device_map = 27,
  storage_full = 28,
  corrupt_data = 29,
  internal = 30,      ///< a promise was dropped, an invariant broke
  you_are_dead = 31,  ///< the peer declared this node dead: its session with this life is over, a new life may join
};

/// Returns the name of `code`: "peer_down".
[[nodiscard]] std::string_view name_of(ErrorCode code);

/// Whether the function ran. `never` guarantees that a retry is safe.
enum class Execution : std::uint8_t { never = 1, maybe = 2, yes = 3 };

[[nodiscard]] std::string_view name_of(Execution execution);

/// The fields of an exception of a registered type: they make it the same exception on another node.
struct ExceptionFields {
  std::string name;         ///< of the type, as registered; empty: the type is not registered
  Fingerprint fingerprint;  ///< of the fields
  std::vector<std::byte> bytes;
  friend bool operator==(const ExceptionFields&, const ExceptionFields&) = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(name, fingerprint, bytes);
  }
};

/// A failure as a value: the cause, the node, the operation, the time it took, and a hint.
struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string message{};      ///< one sentence; for an exception of the function its own text, unchanged
  NodeName peer{};            ///< the node concerned; empty if none
  Incarnation incarnation{};  ///< of `peer`, zero if unknown
  std::string endpoint{};     ///< address of `peer`, empty if unknown
  std::string operation{};    ///< "rpc project", "to_here", "backward"
  Execution execution = Execution::maybe;
  std::int64_t elapsed_us = 0;   ///< since the operation started
  std::string cause{};           ///< text of the error below this one, empty if none
  std::string hint{};            ///< what the reader can do; empty if unknown
  std::string exception_type{};  ///< of an exception: demangled type name
  ExceptionFields exception{};   ///< of an exception of a registered type

  /// Returns "rpc project on ps0: peer_down: connection closed (ran: maybe)", then cause and hint if there are any;
  /// whether it ran is left out unless a function was to run. One line unless `message` has more.
  [[nodiscard]] std::string text() const;

  friend bool operator==(const Error&, const Error&) = default;
  template <class Archive>
  void save(Archive& ar) const {
    ar(code, clipped(message), peer, incarnation, endpoint, clipped(operation), execution, elapsed_us, clipped(cause),
       clipped(hint), clipped(exception_type), exception);
  }
  template <class Archive>
  void load(Archive& ar) {
    ar(code, message, peer, incarnation, endpoint, operation, execution, elapsed_us, cause, hint, exception_type,
       exception);
  }

 private:
  /// Returns `text`, which may come from user code: beyond 60 KiB it is cut, at a whole UTF-8 character, and says so.
  [[nodiscard]] static std::string clipped(std::string_view text);
};

/// Returns an error with this code and text, and nothing else set.
[[nodiscard]] inline Error make_error(ErrorCode code, std::string message) {
  return Error{.code = code, .message = std::move(message)};
}

/// Thrown instead of returning a value: by Future::get, RRef::to_here, backward, step.
class RemoteError : public std::runtime_error {
 public:
  explicit RemoteError(Error error) : std::runtime_error(error.text()), error_(std::move(error)) {}
  [[nodiscard]] const Error& error() const noexcept { return error_; }
  [[nodiscard]] ErrorCode code() const noexcept { return error_.code; }

 private:
  Error error_;
};

/// Sets a text of an Error; without memory the text becomes empty.
void set_text(std::string& text, std::string_view to) noexcept;

/// Returns a copy of `error`; without memory, one that has its numbers and "out of memory" in the place of its texts.
[[nodiscard]] Error copy_of(const Error& error) noexcept;

/// Returns a copy on the heap, for a Result: most Results have a value, and an Error is large. Without memory, returns
/// one that lives as long as the program, with the code, `execution` and "out of memory": then, too, the waiting caller
/// gets an error.
[[nodiscard]] std::shared_ptr<const Error> shared_error(Error error) noexcept;

/// A value or an Error. Copies share the Error.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Error error) : error_(shared_error(std::move(error))) {}

  [[nodiscard]] bool ok() const noexcept { return value_.has_value(); }
  explicit operator bool() const noexcept { return ok(); }

  /// Returns the value. Throws RemoteError unless ok().
  [[nodiscard]] T& value() & { return ok() ? *value_ : throw RemoteError(error()); }
  [[nodiscard]] const T& value() const& { return ok() ? *value_ : throw RemoteError(error()); }
  [[nodiscard]] T&& value() && { return ok() ? *std::move(value_) : throw RemoteError(error()); }

  /// REQUIRES: !ok().
  [[nodiscard]] const Error& error() const { return *error_; }

 private:
  // One of the two. They compile in a third of the time of a variant, in every program that makes a call.
  std::optional<T> value_;
  std::shared_ptr<const Error> error_;
};

/// The result of an operation without a value.
struct Unit {
  friend bool operator==(const Unit&, const Unit&) = default;
  template <class Archive>
  void serialize(Archive&) {}
};

}  // namespace troupe

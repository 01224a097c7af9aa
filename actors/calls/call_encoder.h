// The typed shell of a call: checks the arguments at compile time, encodes them, and passes them to untyped code.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "actors/callable.h"
#include "actors/calls/outgoing_call.h"
#include "actors/calls/payload_io.h"
#include "actors/calls/scope_state.h"
#include "actors/future.h"
#include "actors/source_location.h"
#include "messages/ids.h"

namespace troupe::msg {
struct CallSite;
}  // namespace troupe::msg

namespace troupe::detail {

struct RegisteredFunction;

/// One call being made; one of its call functions completes it. Belongs to one thread.
class CallEncoder {
 public:
  /// Throws std::invalid_argument if the callable is not in the registry of the scope's node.
  CallEncoder(std::shared_ptr<const ScopeState> scope, NodeName to, SourceLocation site, const CallableKey& callable);
  CallEncoder(CallEncoder&&) noexcept;
  CallEncoder& operator=(CallEncoder&&) noexcept;
  ~CallEncoder();

  [[nodiscard]] OutArchive& archive() { return writer_->archive(); }

  /// Restricts the call to that life of the destination.
  void only_to(Incarnation life) { life_ = life; }

  /// Records that an argument could not be encoded: the call will fail with `error`.
  void failed_to_encode(Error error) { failure_ = std::move(error); }

  /// Runs the function on the destination node.
  void call(OutgoingCall& call);

  /// Runs the function on the destination and keeps the result there as `rref`; `fork` is this node's handle of it.
  void create(const RRefId& rref, const ForkId& fork, OutgoingCall& call);

  /// Runs the function on the value of `rref`, which the destination owns, in turn.
  void call_on(const RRefId& rref, OutgoingCall& call);

  /// As call_on, and keeps the result there.
  void create_on(const RRefId& rref, const RRefId& result, const ForkId& fork, OutgoingCall& call);

  [[nodiscard]] const NodeName& to() const { return to_; }
  [[nodiscard]] const SourceLocation& site() const { return site_; }
  [[nodiscard]] const std::shared_ptr<const ScopeState>& scope() const { return scope_; }

 private:
  friend struct CallSender;

  std::shared_ptr<const ScopeState> scope_;
  NodeName to_;
  SourceLocation site_;
  const RegisteredFunction* function_;
  std::unique_ptr<PayloadWriter> writer_;
  std::optional<Error> failure_;
  std::optional<Incarnation> life_;
};

/// Returns the name of the member of that rank. Errors: not_joined.
[[nodiscard]] Result<NodeName> name_of(const ScopeState& scope, std::int64_t rank);

/// Returns the site in the program's call path of the next call through `scope` to node `to`, and uses up one index.
[[nodiscard]] msg::CallSite next_site(const ScopeState& scope, const NodeName& to);

// Checks of a call. Front doors make a CallCheck of their own, so that the compiler's report is short; encode_call
// makes it too, for callables that stand for several functions. Its types name what is wrong.

/// The argument of this number, counted from 1, as given for this parameter.
template <std::size_t number, class Parameter, class Given>
struct ArgumentCheck {
  static constexpr bool travels = Travels<Parameter>;
  static constexpr bool converts = !travels || ArgumentFor<Parameter, Given>;
  static_assert(travels,
                "a parameter of this callable cannot travel: give its type a serialize, or send an RRef to it");
  static_assert(converts, "an argument does not convert to the callable's parameter type without narrowing");
  static constexpr bool passes = travels && converts;
};

template <std::size_t expected, std::size_t given>
struct ArgumentCountCheck {
  static constexpr bool passes = expected == given;
  static_assert(passes, "wrong number of arguments for this callable (a leading Scope& is not passed)");
};

template <class Numbers, class Wire, class... Args>
struct ArgumentChecks;
template <std::size_t... I, class... P, class... Args>
struct ArgumentChecks<std::index_sequence<I...>, std::tuple<P...>, Args...> {
  static constexpr bool passes = (ArgumentCheck<I + 1, P, Args>::passes && ...);
};

/// Of a call whose parameters of the types `Wire` travel: `passes`, or does not compile.
template <class Wire, class... Args>
using CallCheck = std::conditional_t<sizeof...(Args) == std::tuple_size_v<Wire>,
                                     ArgumentChecks<std::index_sequence_for<Args...>, Wire, Args...>,
                                     ArgumentCountCheck<std::tuple_size_v<Wire>, sizeof...(Args)>>;

/// Encodes the arguments of a call. `Wire`: the types that travel.
template <class Wire, class... Args>
CallEncoder encode_call(const std::shared_ptr<ScopeState>& scope, const Result<NodeName>& to, SourceLocation site,
                        const CallableKey& callable, Args&&... args) {
  CallEncoder encoder(scope, to ? to.value() : NodeName(), site, callable);
  if (!to) {
    encoder.failed_to_encode(to.error());
    return encoder;
  }
  try {
    if constexpr (CallCheck<Wire, Args...>::passes) {
      [[maybe_unused]] const auto put = [&encoder]<class P>(std::type_identity<P>, auto&& arg) {
        if constexpr (std::is_same_v<P, std::remove_cvref_t<decltype(arg)>>) {
          encoder.archive()(arg);
        } else {
          const P converted = static_cast<P>(std::forward<decltype(arg)>(arg));
          encoder.archive()(converted);
        }
      };
      [&]<class... P>(std::type_identity<std::tuple<P...>>) {
        (put(std::type_identity<P>{}, std::forward<Args>(args)), ...);
      }(std::type_identity<Wire>{});
    }
  } catch (const EncodeError& error) {
    encoder.failed_to_encode(error_of_encoding(*scope->node, error));
  }
  return encoder;
}

[[nodiscard]] FutureHome future_home_of(const ScopeState& scope);

/// Decodes one value, which must be all of the payload. Errors: as error_of_decoding.
template <class T>
[[nodiscard]] Result<T> read_value(PayloadReader& reader) {
  try {
    T value{};
    reader.archive()(value);
    reader.archive().finish();
    return value;
  } catch (...) {  // DecodeError, or an exception of the value's own type
    return error_of_decoding();
  }
}

/// Decodes `count` values, one after the other. Errors: as error_of_decoding.
template <class T>
[[nodiscard]] Result<std::vector<T>> read_values(PayloadReader& reader, std::size_t count) {
  try {
    std::vector<T> values;
    for (std::size_t i = 0; i < count; ++i) {
      T value{};
      reader.archive()(value);
      values.push_back(std::move(value));
    }
    reader.archive().finish();
    return values;
  } catch (...) {
    return error_of_decoding();
  }
}

/// Returns the tokens that cancel a request made in `scope` whose answer completes `future`.
[[nodiscard]] std::vector<std::stop_token> cancelling(const ScopeState& scope, const FutureCore& future);

/// Returns the future of a value that `start` requests; the first thread that wants the value decodes it. `start`
/// receives the call, complete except for its destination.
template <class R, class Start>
Future<R> expect(const std::shared_ptr<ScopeState>& scope, Start&& start) {
  auto state = std::make_shared<FutureState<Stored<R>>>(future_home_of(*scope));
  const auto call = std::make_shared<OutgoingCall>(scope, [state](Result<std::shared_ptr<PayloadReader>> reply) {
    if (!reply) {
      state->complete(reply.error());
      return;
    }
    state->complete_later([reader = std::move(reply).value()] { return read_value<Stored<R>>(*reader); });
  });
  call->count_as_open();
  call->cancelled_by = cancelling(*scope, *state);
  start(*call);
  return Future<R>(std::move(state));
}

}  // namespace troupe::detail

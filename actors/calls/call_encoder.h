// The typed shell of a call: checks the arguments at compile time, encodes them, and passes them to untyped code.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "actors/callable.h"
#include "actors/calls/callee.h"
#include "actors/calls/payload_io.h"
#include "actors/calls/scope_state.h"
#include "actors/calls/value_box.h"
#include "actors/future.h"
#include "actors/source_location.h"
#include "messages/ids.h"

namespace troupe::msg {
struct CallSite;
}  // namespace troupe::msg

namespace troupe::detail {

class OutgoingCall;
struct RegisteredFunction;

/// One call being made; one of its call functions completes it. Belongs to one thread.
class CallEncoder {
 public:
  /// Without a destination the call will fail with that Error. Throws std::invalid_argument if the callable is not in
  /// the registry of the scope's node.
  CallEncoder(std::shared_ptr<const ScopeState> scope, Result<NodeName> to, SourceLocation site,
              const CallableKey& callable);
  CallEncoder(CallEncoder&&) noexcept;
  CallEncoder& operator=(CallEncoder&&) noexcept;
  ~CallEncoder();

  [[nodiscard]] OutArchive& archive() { return writer_->archive(); }

  /// Restricts the call to that life of the destination.
  void only_to(Incarnation life) { life_ = life; }

  /// Returns false if the call will fail: its arguments need not be encoded.
  [[nodiscard]] bool wants_arguments() const { return !failure_.has_value(); }

  /// Records that an argument could not be encoded: the call will fail.
  void failed_to_encode(const EncodeError& error);

  /// Runs the function on the destination node.
  void call(OutgoingCall& call);

  /// As `call`, for a function of the runtime: errors name the operation `reported_as`.
  void call_as(std::string reported_as, OutgoingCall& call);

  /// Runs the function on the destination and keeps the result there as `rref`; `fork` is this node's handle of it.
  void create(const RRefId& rref, const ForkId& fork, OutgoingCall& call);

  /// Runs the function on the value of `rref`, which the destination owns, in turn.
  void call_on(const RRefId& rref, OutgoingCall& call);

  /// As call_on, and keeps the result there.
  void create_on(const RRefId& rref, const RRefId& result, const ForkId& fork, OutgoingCall& call);

  /// Returns "rpc add on here.4", for errors of a call on the value of `rref`.
  [[nodiscard]] std::string operation(std::string_view kind, const RRefId& rref) const;

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

// Compile-time checks of a call. Each front door makes a CallCheck of its own, so that the compiler's report is short.
// EncodeArguments makes one too, for callables that stand for several functions. The template arguments in the report
// say which argument is wrong.

/// The argument of this number, counted from 1, as given for this parameter.
template <std::size_t number, class Parameter, class Given>
struct ArgumentCheck {
  static constexpr bool travels = Travels<Parameter>;
  static constexpr bool converts = !travels || ArgumentFor<Parameter, Given>;
  static_assert(
      travels,
      "a parameter of this callable cannot travel: give its type a default constructor and a serialize, make it a "
      "struct of at most 16 public fields without pointers, references and base class, or send an RRef to it");
  static_assert(converts,
                "an argument does not convert to the callable's parameter type without narrowing: write a number for "
                "an unsigned parameter as 1U, and convert others with a static_cast");
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

/// The check of a call with arguments `Args` for parameters of the types `Wire`: `passes` is true, or it does not
/// compile.
template <class Wire, class... Args>
using CallCheck = std::conditional_t<sizeof...(Args) == std::tuple_size_v<Wire>,
                                     ArgumentChecks<std::index_sequence_for<Args...>, Wire, Args...>,
                                     ArgumentCountCheck<std::tuple_size_v<Wire>, sizeof...(Args)>>;

/// Encodes an argument of type P.
template <class P, class Given>
void encode_argument(CallEncoder& encoder, Given&& argument) {
  if constexpr (std::is_same_v<P, std::remove_cvref_t<Given>>) {
    encoder.archive()(argument);
  } else {
    const P converted = static_cast<P>(std::forward<Given>(argument));
    encoder.archive()(converted);
  }
}

/// Encodes the arguments of a call. `Wire`: the types that travel.
template <class Wire>
struct EncodeArguments;
template <class... P>
struct EncodeArguments<std::tuple<P...>> {
  CallEncoder& encoder;

  template <class... Args>
  void operator()(Args&&... args) const {
    if constexpr (CallCheck<std::tuple<P...>, Args...>::passes) {
      if (!encoder.wants_arguments()) return;
      try {
        (encode_argument<P>(encoder, std::forward<Args>(args)), ...);
      } catch (const EncodeError& error) {
        encoder.failed_to_encode(error);
      }
    }
  }

  /// As above, for a call on a value, which the OnValue stands for.
  template <class... Args>
  void operator()(OnValue /*value*/, Args&&... args) const {
    (*this)(std::forward<Args>(args)...);
  }
};

[[nodiscard]] FutureHome future_home_of(const ScopeState& scope);

/// Decodes one value, which must be all of the payload of a PayloadReader. Throws as PayloadReader::fail_decoding().
template <class T>
[[nodiscard]] T decode_value(void* reader) {
  auto& payload = *static_cast<PayloadReader*>(reader);
  try {
    T value{};
    payload.archive()(value);
    payload.archive().finish();
    return value;
  } catch (...) {
    payload.fail_decoding();
  }
}

/// Returns the tokens that cancel a request made in `scope` whose answer completes `future`.
[[nodiscard]] std::vector<std::stop_token> cancelling(const ScopeState& scope, const FutureCore& future);

/// Returns a call whose answer completes `future`: with the PayloadReader, undecoded, or with the Error.
[[nodiscard]] std::shared_ptr<OutgoingCall> call_for(std::shared_ptr<const ScopeState> scope,
                                                     std::shared_ptr<FutureCore> future);

/// Several values in one payload, one after the other.
struct ArrivedValues {
  std::shared_ptr<PayloadReader> reader;
  std::size_t count;
};

/// As call_for; completes with ArrivedValues.
[[nodiscard]] std::shared_ptr<OutgoingCall> call_for_values(std::shared_ptr<const ScopeState> scope,
                                                            std::shared_ptr<FutureCore> future, std::size_t count);

/// Held by the copies of a future: the last one ends the result. The call holds the state as well, on the receiving
/// thread, where the destructor of a result must not run.
template <class T>
struct ResultHolder {
  explicit ResultHolder(std::shared_ptr<FutureState<T>> s) : state(std::move(s)) {}
  ~ResultHolder() { state->end_result(); }
  ResultHolder(const ResultHolder&) = delete;
  ResultHolder& operator=(const ResultHolder&) = delete;

  const std::shared_ptr<FutureState<T>> state;
};

/// Returns the future of a call for which `state` is completed. REQUIRES: called once.
template <class R>
[[nodiscard]] Future<R> future_of_call(const std::shared_ptr<FutureState<Stored<R>>>& state) {
  using T = Stored<R>;
  if constexpr (kValueEnd<T> != ValueEnd::alone) return Future<R>(state);
  else return Future<R>({std::make_shared<ResultHolder<T>>(state), state.get()});
}

/// A call that has no destination yet, and the future of its result.
template <class R>
struct ExpectedCall {
  std::shared_ptr<OutgoingCall> call;
  Future<R> future;
};

template <class R>
[[nodiscard]] ExpectedCall<R> expect(const std::shared_ptr<ScopeState>& scope) {
  using State = FutureState<Stored<R>>;
  auto state = std::make_shared<State>(future_home_of(*scope), &decode_value<Stored<R>>);
  Future<R> future = future_of_call<R>(state);  // first: a call that is made is sent
  return {call_for(scope, std::move(state)), std::move(future)};
}

}  // namespace troupe::detail

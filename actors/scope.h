// The object through which calls are made: a Node, a DistContext, or the scope that a served function receives.
//
// A Scope carries the deadline, the autograd context, the call path, the trace id and the cancellation token to nested
// calls. It is passed explicitly, so a call from another thread or from a callback keeps them all.
// Thread rule: any thread may call any member.
//
// Order: calls of one node on one RRef begin in the order in which they were made. Other calls have no order: small
// ones overtake large ones. A call to the own node is encoded and decoded like any other. Tensors of one message that
// are views of one storage arrive as views of one storage; a small part of a large storage travels alone. Outside a
// DistContext a Variable that requires a gradient arrives as a leaf. No gradient comes back: the log warns, and a pass
// from the result throws.
//
// Any request to a node, also one of the runtime (to_here, find, grad), may end with these codes: timeout, cancelled,
// not_joined, peer_down, peer_restarted, peer_unreachable, you_are_dead, shutting_down (this node or the other),
// not_authorized (see CallGrants), resource_exhausted, device_out_of_memory, too_large, decode, protocol_violation,
// internal, and in a context context_aborted. A call also with no_such_function, bad_argument, not_serializable,
// missing_device_map and remote_exception. Where a function says which RemoteError it throws, it names what is its own.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
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
#include "actors/calls/call_encoder.h"
#include "actors/calls/callee.h"
#include "actors/deadline.h"
#include "actors/future.h"
#include "actors/retry.h"
#include "actors/source_location.h"
#include "actors/worker_info.h"
#include "messages/schema.h"

namespace troupe {

template <class T>
class RRef;

/// The destination of a call, and the source line that made the call (for reports and warnings).
struct To {
  To(std::string_view node, SourceLocation at = SourceLocation::current()) : name(node), site(at) {}
  To(const std::string& node, SourceLocation at = SourceLocation::current()) : name(node), site(at) {}
  To(const char* node, SourceLocation at = SourceLocation::current()) : name(node), site(at) {}
  To(const WorkerInfo& node, SourceLocation at = SourceLocation::current()) : name(node.name), site(at) {}
  /// The member of that rank. Errors: not_joined, with the list of members.
  template <std::integral I>
    requires(!std::is_same_v<I, bool> && !std::is_same_v<I, char>)
  To(I member, SourceLocation at = SourceLocation::current()) : rank(static_cast<std::int64_t>(member)), site(at) {}

  NodeName name;
  std::optional<std::int64_t> rank;  ///< the destination's rank, instead of its name
  SourceLocation site;
};

using msg::Priority;
using msg::Sharing;

/// Options of one call, or of all calls made through the Scope that `with` returns.
struct CallOptions {
  std::optional<Deadline> deadline = {};  ///< instead of the scope's; never beyond the end of a served call
  /// Of rpc_sync and rpc_async on a node: when a failed call is repeated. Unless it is `never`, a call with a reference
  /// in its arguments, or in a context, fails with bad_argument. `remote`, calls on an RRef, fetches (to_here) and
  /// reads of a stream ignore it: they are attempted once.
  std::optional<Repeat> repeat = {};
  std::optional<RetryPolicy> retry = {};        ///< how often and when calls are repeated; ignored where `repeat` is
  std::optional<std::uint64_t> trace = {};      ///< an id chosen by the user; nested calls inherit it
  std::optional<Sharing> sharing = {};          ///< of the value that `remote` makes: functions in turn, or concurrent
  std::optional<Unreachable> unreachable = {};  ///< the behavior of calls while their node is silent; default: wait
  /// Order in which calls waiting for a thread of the callee start; calls on one value keep the order of arrival;
  /// nested calls inherit it.
  std::optional<Priority> priority = {};
};

/// The settings that calls inherit. A handle: copies refer to the same scope.
class Scope {
 public:
  explicit Scope(std::shared_ptr<detail::ScopeState> state) : state_(std::move(state)) {}

  /// Calls `callable` on node `to` and waits for its result. Throws as rpc_async and Future::get: RemoteError, or the
  /// function's own exception if its type is registered (exceptions.h).
  template <class F = detail::OneOfSeveral, class... Args>
  detail::ResultFor<F, Args...> rpc_sync(To to, const F& callable, Args&&... args) const {
    return rpc_async(std::move(to), callable, std::forward<Args>(args)...).get();
  }

  /// Calls `callable` on node `to`. Its parameters, without a leading Scope&, are made from `args` on this node and
  /// travel. The callable must be in this node's registry and in the callee's, under one name, or be an operation
  /// (op.h). A callable that returns a Future<T>, or is a coroutine Task<T>, gives its caller the T. All failures but
  /// these are in the future, also those of encoding: throws std::invalid_argument if the callable is not registered
  /// here, and what the serialize of an argument throws.
  template <class F = detail::OneOfSeveral, class... Args>
  [[nodiscard]] Future<detail::ResultFor<F, Args...>> rpc_async(To to, const F& callable, Args&&... args) const {
    using R = detail::ResultFor<F, Args...>;
    auto encoder = encode(to, callable, std::forward<Args>(args)...);
    auto expected = detail::expect<R>(state_);
    encoder.call(*expected.call);
    return std::move(expected.future);
  }

  /// Calls `callable` on node `to` and leaves the result there: `to` becomes the owner, and the caller gets a reference
  /// at once. Errors appear when the reference is used. A function without a result gives a reference to a Unit. At the
  /// deadline the function is asked to stop (stop_token()); a value that it makes all the same can be used.
  /// Defined in rref.h.
  template <class F = detail::OneOfSeveral, class... Args>
  [[nodiscard]] RRef<detail::Stored<detail::ResultFor<F, Args...>>> remote(To to, const F& callable,
                                                                           Args&&... args) const;

  // Values with names: the state of a node. Defined in rref.h.

  /// Returns this node's value `name`. If there is none, publishes the result of `make()`; other callers wait for it.
  /// If `make` throws, its caller gets the exception and the next caller makes the value. Throws RemoteError: timeout;
  /// bad_argument as publish for an empty name or another type, or if `make` itself asks for `name`.
  template <class T, class Make>
  RRef<T> node_local(std::string_view name, const Make& make, SourceLocation site = SourceLocation::current()) const;

  /// Makes this node the owner of `value` under `name`, for `find` of any node, until `unpublish` or the node's stop.
  /// Throws RemoteError{bad_argument}: the name is empty, taken, or of a value of another type.
  template <class T>
  RRef<T> publish(std::string_view name, T value, SourceLocation site = SourceLocation::current()) const;

  /// Releases the value; references to it stay valid. Returns false if this node has none of that name.
  bool unpublish(std::string_view name) const;

  /// Returns the value that node `to` has under `name`; waits, within the deadline, until it is published. Throws
  /// RemoteError: bad_argument if it is not a T; and what any request may end with, not_authorized without the grant
  /// "troupe.find".
  template <class T>
  [[nodiscard]] RRef<T> find(To to, std::string_view name) const;
  template <class T>
  [[nodiscard]] Future<RRef<T>> find_async(To to, std::string_view name) const;

  /// Returns a scope like this one with other options: `scope.with({.deadline = 2s}).rpc_sync(...)`. Throws
  /// std::invalid_argument if a pause of `retry` is negative, its attempts_max below 1, or its budget below 0 or NaN.
  [[nodiscard]] Scope with(CallOptions options) const;

  /// Returns the name of the node of this scope.
  [[nodiscard]] const NodeName& node_name() const;
  /// Returns this node's life: unlike its name, no other node has or had it. A key for state that a program keeps for
  /// each of its nodes.
  [[nodiscard]] NodeLife node_life() const;

  /// Returns the node whose call is served in this scope; outside of served functions, this node.
  [[nodiscard]] const NodeName& caller() const;

  /// Returns the id that the user gave, here or at the root of the call path; 0 if none.
  [[nodiscard]] std::uint64_t trace() const;

  /// Returns the time left of the call that is served, or of the scope's own deadline, if that is earlier; nullopt:
  /// they have none. Calls through a scope without a deadline of its own also have the node's.
  [[nodiscard]] std::optional<Duration> time_left() const;

  /// Stops when the caller of the function served in this scope cancelled the call, let it expire or is down. For a
  /// function that makes a remote value: only at the deadline of `remote`. Callbacks on it run on the pool.
  [[nodiscard]] std::stop_token stop_token() const;

  [[nodiscard]] detail::ScopeState& state() const { return *state_; }
  [[nodiscard]] const std::shared_ptr<detail::ScopeState>& shared_state() const { return state_; }

 protected:
  template <class F, class... Args>
  detail::CallEncoder encode(const To& to, const F& callable, Args&&... args) const {
    using C = detail::ChosenFor<F, Args...>;
    static_assert(std::is_void_v<detail::ObjectOf<C>>,
                  "a member function is called on an RRef: r.rpc_sync(scope, &T::f, ...)");
    if constexpr (std::is_same_v<C, F>) static_cast<void>(detail::CallCheck<detail::WireOf<C>, Args...>::passes);
    auto encoder = encoder_for(to, detail::key_of<C>(detail::Callee<F>::template choose<Args...>(callable)));
    const detail::EncodeArguments<detail::WireOf<C>> encode_all{encoder};
    detail::Callee<F>::complete(callable, encode_all, std::forward<Args>(args)...);
    return encoder;
  }

 private:
  [[nodiscard]] detail::CallEncoder encoder_for(const To& to, const detail::CallableKey& key) const;

  std::shared_ptr<detail::ScopeState> state_;
};

}  // namespace troupe

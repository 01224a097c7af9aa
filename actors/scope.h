// What calls are made through: a Node, a DistContext, or the scope a served function receives.
//
// A Scope carries the deadline, the autograd context, the call path, the trace id and the cancellation token to nested
// calls. It is explicit: a call from another thread or a callback loses nothing.
// Thread rule: any thread may call any member.
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

/// Where a call goes, and the line that made it (for reports and warnings).
struct To {
  To(std::string_view node, SourceLocation at = SourceLocation::current()) : name(node), site(at) {}
  To(const std::string& node, SourceLocation at = SourceLocation::current()) : name(node), site(at) {}
  To(const char* node, SourceLocation at = SourceLocation::current()) : name(node), site(at) {}
  To(const WorkerInfo& node, SourceLocation at = SourceLocation::current()) : name(node.name), site(at) {}
  /// The member of that rank. Errors: not_joined, with the members there are.
  template <std::integral I>
    requires(!std::is_same_v<I, bool> && !std::is_same_v<I, char>)
  To(I member, SourceLocation at = SourceLocation::current()) : rank(static_cast<std::int64_t>(member)), site(at) {}

  NodeName name;
  std::optional<std::int64_t> rank;  ///< instead of a name
  SourceLocation site;
};

using msg::Priority;
using msg::Sharing;

/// What may be said of one call, or of all calls made through the Scope that `with` returns.
struct CallOptions {
  std::optional<Deadline> deadline = {};        ///< the earlier of this and the scope's own counts
  std::optional<Idempotency> idempotency = {};  ///< of calls to nodes; at_most_once by default, else without references and gradients
  std::optional<RetryPolicy> retry = {};        ///< for calls that are not at_most_once
  std::optional<std::uint64_t> trace = {};      ///< an id of the user's own, which nested calls carry on
  std::optional<Sharing> sharing = {};          ///< how functions run on the value that `remote` makes: in turn, or all at once
  std::optional<Unreachable> unreachable = {};  ///< what calls do while their node is silent: wait by default
  std::optional<Priority> priority = {};        ///< which calls begin first when they wait for a thread; nested calls have it too
};

/// Who calls are made for: what they inherit. A handle: copies are the same scope.
class Scope {
 public:
  explicit Scope(std::shared_ptr<detail::ScopeState> state) : state_(std::move(state)) {}

  /// Calls `callable` on node `to` and waits for its result. Throws RemoteError.
  template <class F, class... Args>
  detail::ResultFor<F, Args...> rpc_sync(To to, const F& callable, Args&&... args) const {
    return rpc_async(std::move(to), callable, std::forward<Args>(args)...).get();
  }

  /// Calls `callable` on node `to`; its parameters, without a leading Scope&, are made from `args` here and travel.
  /// The callable must be in this node's registry and in the callee's, under one name, or be an operation (op.h). One that
  /// returns a Future<T>, or is a coroutine Task<T>, gives its caller the T. Never throws for what happens
  /// elsewhere: that is in the future. Throws std::invalid_argument if the callable is not registered here.
  template <class F, class... Args>
  [[nodiscard]] Future<detail::ResultFor<F, Args...>> rpc_async(To to, const F& callable, Args&&... args) const {
    using R = detail::ResultFor<F, Args...>;
    auto encoder = encode(to, callable, std::forward<Args>(args)...);
    return detail::expect<R>(state_, [&](detail::OutgoingCall& call) { encoder.call(call); });
  }

  /// Calls `callable` on node `to` and leaves the result there: `to` becomes the owner, the caller gets a reference at
  /// once. Errors show when the reference is used; that of a function without a result refers to a Unit. Defined in rref.h.
  template <class F, class... Args>
  [[nodiscard]] RRef<detail::Stored<detail::ResultFor<F, Args...>>> remote(To to, const F& callable, Args&&... args) const;

  /// A scope like this one with other options: `scope.with({.deadline = 2s}).rpc_sync(...)`.
  [[nodiscard]] Scope with(CallOptions options) const;

  /// The node this scope belongs to.
  [[nodiscard]] const NodeName& node_name() const;

  /// The node whose call is served in this scope; this node itself outside of served functions.
  [[nodiscard]] const NodeName& caller() const;

  /// The id that the user gave, here or at the first call of all; 0 if none.
  [[nodiscard]] std::uint64_t trace() const;

  /// Time left for calls made through this scope; nothing means no limit.
  [[nodiscard]] std::optional<Duration> time_left() const;

  /// Stops when the caller of the function that is served in this scope gave up or is gone; for one that makes a remote
  /// value, at the deadline of `remote` only. Callbacks on it run on the pool.
  [[nodiscard]] std::stop_token stop_token() const;

  [[nodiscard]] detail::ScopeState& state() const { return *state_; }
  [[nodiscard]] const std::shared_ptr<detail::ScopeState>& shared_state() const { return state_; }

 protected:
  template <class F, class... Args>
  detail::CallEncoder encode(const To& to, const F& callable, Args&&... args) const {
    using C = detail::ChosenFor<F, Args...>;
    static_assert(std::is_void_v<detail::ObjectOf<C>>, "a member function is called on an RRef: r.rpc_sync(scope, &T::f, ...)");
    const detail::CallableKey key = detail::key_of<C>(detail::Callee<F>::template choose<Args...>(callable));
    const Result<NodeName> node = to.rank ? detail::name_of(*state_, *to.rank) : Result<NodeName>(to.name);
    const auto call = [&](auto&&... all) {
      return detail::encode_call<detail::WireOf<C>>(state_, node, to.site, key, std::forward<decltype(all)>(all)...);
    };
    return detail::Callee<F>::complete(callable, call, std::forward<Args>(args)...);
  }

 private:
  std::shared_ptr<detail::ScopeState> state_;
};

}  // namespace troupe

// A reference to a value that lives on some node, its owner.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include "actors/callable.h"
#include "actors/calls/call_encoder.h"
#include "actors/calls/value_box.h"
#include "actors/future.h"
#include "actors/references/naming.h"
#include "actors/references/rref_handle.h"
#include "actors/scope.h"
#include "actors/source_location.h"
#include "messages/call_options.h"
#include "messages/schema.h"

namespace troupe {

namespace detail {

class ValueUse;

/// The parts of RRef<T> that do not depend on T. Each throws RemoteError or fails its handler if a reference has
/// failed. `handles`: at least one, all of one owner. `site`: the program's line, if known.
void fetch(const ScopeState& scope, const std::vector<std::shared_ptr<RRefHandle>>& handles, msg::Wanted wanted,
           OutgoingCall& call, std::optional<SourceLocation> site);
[[nodiscard]] Future<std::string> type_of_value(const std::shared_ptr<ScopeState>& scope,
                                                const std::shared_ptr<RRefHandle>& handle, const SourceLocation& site);
/// Returns the same scope without its autograd context, for calls that are not part of a forward pass.
[[nodiscard]] Scope without_context(const Scope& scope);
/// Returns a scope like this one for calls that an object makes as long as it lives: they do not end with the served
/// call, WaitAllScope or autograd context that `scope` belongs to. Each has the call deadline of `scope`.
[[nodiscard]] Scope lasting_scope(const Scope& scope);
/// Groups handles by owner, none twice in one group; each group lists indices into `handles`.
[[nodiscard]] std::vector<std::vector<std::size_t>> by_owner(const std::vector<std::shared_ptr<RRefHandle>>& handles);
/// A value of this node, and the turn on it.
struct PinnedValue {
  ValueBox box;
  std::shared_ptr<ValueUse> use;
};
/// Waits for the value and the turn, within the deadline of `scope`. Throws RemoteError, also if the value is not of
/// the type `wanted`; null: of any.
[[nodiscard]] PinnedValue use_here(const ScopeState& scope, const std::shared_ptr<RRefHandle>& handle,
                                   const std::type_info* wanted = nullptr);
/// The same for a use that only reads the value: copies that others keep stay up to date (RRef::cached).
[[nodiscard]] PinnedValue read_here(const ScopeState& scope, const std::shared_ptr<RRefHandle>& handle,
                                    const std::type_info* wanted);
[[nodiscard]] std::shared_ptr<RRefHandle> remote(CallEncoder encoder, const std::string& type);
[[nodiscard]] std::shared_ptr<RRefHandle> remote_on(CallEncoder encoder, const std::shared_ptr<RRefHandle>& target,
                                                    const std::string& type);
void call_on(CallEncoder encoder, const std::shared_ptr<RRefHandle>& target, OutgoingCall& call);
[[nodiscard]] std::shared_ptr<RRefHandle> own(const ScopeState& scope, ValueBox value, const std::string& type,
                                              const SourceLocation& site);
[[nodiscard]] bool is_owner(const RRefHandle& handle);
[[nodiscard]] bool is_confirmed(const RRefHandle& handle);
[[nodiscard]] std::string text_of(const RRefHandle& handle);
void save_rref(OutArchive& archive, const std::shared_ptr<RRefHandle>& handle);
[[nodiscard]] std::shared_ptr<RRefHandle> load_rref(InArchive& archive);
[[noreturn]] void throw_null_rref(const char* operation);

}  // namespace detail

/// The scope through which an RRef is used, and the source line (for reports). It must not outlive the scope.
struct Through {
  Through(const Scope& s, SourceLocation at = SourceLocation::current()) : scope(s), site(at) {}

  const Scope& scope;
  SourceLocation site;
};

/// The value itself, on its owner. No other function has a turn on the value while this object lives.
template <class T>
class LocalValue {
 public:
  LocalValue(std::shared_ptr<T> value, std::shared_ptr<detail::ValueUse> use)
      : value_(std::move(value)), use_(std::move(use)) {}
  T& operator*() const { return *value_; }
  T* operator->() const { return value_.get(); }

 private:
  std::shared_ptr<T> value_;
  std::shared_ptr<detail::ValueUse> use_;
};

/// A handle: copies on one node are one reference; when the last copy is destroyed, the owner is notified. Travels in
/// arguments, results, containers and other values. A default-constructed one is null: every use throws
/// std::logic_error. A use of a value that is still being made waits at the owner. Functions that run on one value take
/// turns; uses by one node begin in the order in which it made them. A function gives its turn up while it waits
/// (rpc_sync, get, co_await, a barrier), and after it has returned a Future: then other functions may change the value,
/// and what it read before the wait may be out of date after it. The type need not travel or move (a model with its
/// layers): then `remote` makes the value, and all but to_here works. Thread rule: any thread may call any member.
template <class T>
class RRef {
 public:
  RRef() = default;
  explicit RRef(std::shared_ptr<detail::RRefHandle> handle) : handle_(std::move(handle)) {}

  /// Makes this scope's node the owner of `value`. `scope.with({.sharing = ...})` sets how functions run on it.
  RRef(const Scope& scope, T value, SourceLocation site = SourceLocation::current())
      : handle_(detail::own(scope.state(), detail::ValueBox::of<T>(std::move(value)), wire_name(), site)) {}

  /// Returns a copy of the value. Throws what the creating function threw (as Future::get); RemoteError: owner_died,
  /// ref_revoked, and what any request may end with (scope.h).
  T to_here(Through through) const { return to_here_async(through).get(); }

  [[nodiscard]] Future<T> to_here_async(Through through) const {
    static_assert(Travels<T>,
                  "the value cannot travel: call its member functions where it is, r.rpc_sync(scope, &T::f, ...)");
    auto expected = detail::expect<T>(through.scope.shared_state());
    detail::fetch(through.scope.state(), {handle("to_here")}, msg::Wanted::value, *expected.call, through.site);
    return std::move(expected.future);
  }

  /// Returns a read-only copy that all callers on this node share. It is fetched again only after the value has
  /// changed: by a non-const member function or through `local_value`; a Variable's also by an optimizer's step, a
  /// restored checkpoint, values from another member of a DataParallel, or rows pushed to a table, through whichever
  /// reference. If you cache a reference to a *parameter* of a module, changes made by a function that runs on the
  /// module are not noticed. A copy read during a change (`Sharing::concurrent`, or after the function has returned a
  /// future) counts as out of date. The node that makes a change sees it at once, others when the owner tells them.
  /// The owner keeps no copy. No gradient flows: a Variable in the copy is detached. Throws as to_here.
  [[nodiscard]] std::shared_ptr<const T> cached(Through through) const {
    static_assert(Travels<T>,
                  "the value cannot travel: call its member functions where it is, r.rpc_sync(scope, &T::f, ...)");
    const auto& kept = handle("cached");
    if (auto copy = kept->kept_copy(through.scope.state())) return std::static_pointer_cast<const T>(std::move(copy));
    const Scope outside = detail::without_context(through.scope);
    if (detail::is_owner(*kept)) return std::make_shared<const T>(to_here({outside, through.site}));
    using Copy = std::pair<std::uint64_t, T>;
    const auto expected = detail::expect<Copy>(outside.shared_state());
    detail::fetch(outside.state(), {kept}, msg::Wanted::cached, *expected.call, through.site);
    const auto fetched = std::make_shared<Copy>(expected.future.get());
    const std::shared_ptr<const T> copy(fetched, &fetched->second);
    kept->copies().keep(copy, fetched->first);
    return copy;
  }

  /// Waits until the value exists and returns its type as text: its wire structure, or "object" if the value does not
  /// travel. Asks the owner once. Throws as to_here.
  [[nodiscard]] std::string type(Through through) const { return type_async(through).get(); }
  [[nodiscard]] Future<std::string> type_async(Through through) const {
    return detail::type_of_value(through.scope.shared_state(), handle("type"), through.site);
  }

  /// Returns a future that is done when the value exists, without fetching it; it fails if the value will never exist.
  [[nodiscard]] Future<void> created(Through through) const {
    return type_async(through).then([](const std::string& /*type*/) {});
  }

  /// Returns the value itself once it exists and the caller has the turn. Throws as to_here; bad_argument if this node
  /// is not the owner, or the value no T. REQUIRES: not called in a function that has the turn on the same value.
  [[nodiscard]] LocalValue<T> local_value(const Scope& scope) const {
    detail::PinnedValue pinned = detail::use_here(scope.state(), handle("local_value"), &typeid(T));
    return LocalValue<T>(pinned.box.template as<T>(), std::move(pinned.use));
  }

  /// Calls a function on the value, at its owner, in turn: a member function of T, or a function or operation whose
  /// first parameter is the value, as in `table.rpc_sync(node, op::index_select, 0, rows)`. Throws as Future::get.
  template <class F = detail::OneOfSeveral, class... Args>
  detail::ResultOn<T, F, Args...> rpc_sync(Through through, const F& callable, Args&&... args) const {
    return rpc_async(through, callable, std::forward<Args>(args)...).get();
  }

  template <class F = detail::OneOfSeveral, class... Args>
  [[nodiscard]] Future<detail::ResultOn<T, F, Args...>> rpc_async(Through through, const F& callable,
                                                                  Args&&... args) const {
    auto encoder = encode(through, callable, std::forward<Args>(args)...);
    using R = detail::ResultOn<T, F, Args...>;
    auto expected = detail::expect<R>(through.scope.shared_state());
    detail::call_on(std::move(encoder), handle("rpc_async"), *expected.call);
    return std::move(expected.future);
  }

  /// Calls a function on the value, as rpc_sync, and leaves the result at the owner.
  template <class F = detail::OneOfSeveral, class... Args>
  [[nodiscard]] RRef<detail::Stored<detail::ResultOn<T, F, Args...>>> remote(Through through, const F& callable,
                                                                             Args&&... args) const {
    using R = detail::Stored<detail::ResultOn<T, F, Args...>>;
    return RRef<R>(detail::remote_on(encode(through, callable, std::forward<Args>(args)...), handle("remote"),
                                     RRef<R>::wire_name()));
  }

  [[nodiscard]] bool defined() const noexcept { return handle_ != nullptr; }
  [[nodiscard]] const NodeName& owner() const { return handle("owner")->owner().name; }
  [[nodiscard]] bool is_owner() const { return detail::is_owner(*handle("is_owner")); }

  /// Returns true if the owner has acknowledged this handle; always true on the owner.
  [[nodiscard]] bool confirmed_by_owner() const { return detail::is_confirmed(*handle("confirmed_by_owner")); }

  [[nodiscard]] const RRefId& id() const { return handle("id")->id(); }

  /// Returns "RRef<f32> trainer.17 on ps0".
  [[nodiscard]] std::string text() const { return detail::text_of(*handle("text")); }

  /// Two references are equal if they refer to the same value.
  friend bool operator==(const RRef& a, const RRef& b) {
    return a.handle_ == b.handle_ || (a.handle_ && b.handle_ && a.handle_->id() == b.handle_->id());
  }

  [[nodiscard]] const std::shared_ptr<detail::RRefHandle>& shared_handle() const { return handle_; }

  /// Returns the name of the type in texts: its wire structure.
  [[nodiscard]] static std::string wire_name() { return schema_of<detail::Stored<T>>(); }

 private:
  [[nodiscard]] const std::shared_ptr<detail::RRefHandle>& handle(const char* operation) const {
    if (!handle_) detail::throw_null_rref(operation);
    return handle_;
  }

  template <class F, class... Args>
  detail::CallEncoder encode(const Through& through, const F& callable, Args&&... args) const {
    using C = detail::ChosenOn<T, F, Args...>;
    if constexpr (detail::is_inherited<F, T>) {
      return encode(through, member_of<T>(callable), std::forward<Args>(args)...);
    } else {
      detail::CallEncoder encoder(through.scope.shared_state(), owner(), through.site,
                                  detail::key_of<C>(choose(callable, std::type_identity<std::tuple<Args...>>{})));
      if constexpr (detail::is_member<F>) {
        using Wire = detail::WireOf<C>;
        static_assert(std::is_same_v<detail::ObjectOf<C>, T>, "the member function is not one of the value's class");
        if constexpr (std::is_same_v<C, F>) static_cast<void>(detail::CallCheck<Wire, Args...>::passes);
        detail::Callee<F>::complete(callable, detail::EncodeArguments<Wire>{encoder}, std::forward<Args>(args)...);
      } else {
        using Rest = typename detail::AfterFirst<detail::WireOf<C>>::Rest;
        static_assert(std::is_same_v<typename detail::RunsOn<C>::Type, T>,
                      "the function does not take the value as its first parameter, a const T&");
        if constexpr (std::is_same_v<C, F>) static_cast<void>(detail::CallCheck<Rest, Args...>::passes);
        detail::Callee<F>::complete(callable, detail::EncodeArguments<Rest>{encoder}, detail::OnValue{},
                                    std::forward<Args>(args)...);
      }
      return encoder;
    }
  }

  template <class F, class... Args>
  [[nodiscard]] static constexpr decltype(auto) choose(const F& callable,
                                                       std::type_identity<std::tuple<Args...>> /*args*/) {
    if constexpr (detail::is_member<F>) return detail::Callee<F>::template choose<Args...>(callable);
    else return detail::Callee<F>::template choose<const T&, Args...>(callable);
  }

  std::shared_ptr<detail::RRefHandle> handle_;
};

/// A reference travels as its index in the message's list of references.
template <class T>
struct WireFormat<RRef<T>> {
  static constexpr bool kTravels = true;
  static void save(OutArchive& archive, const RRef<T>& rref) { detail::save_rref(archive, rref.shared_handle()); }
  static void load(InArchive& archive, RRef<T>& rref) { rref = RRef<T>(detail::load_rref(archive)); }
  template <class Schema>
  static void describe(Schema& schema) {
    schema.token("rref");
  }
};

template <class T, class Make>
RRef<T> Scope::node_local(std::string_view name, const Make& make, SourceLocation site) const {
  return RRef<T>(detail::node_local(*state_, std::string(name), {detail::identity_of<T>(), RRef<T>::wire_name()}, site,
                                    [&make] { return detail::ValueBox::made_by<T>(make); }));
}

template <class T>
RRef<T> Scope::publish(std::string_view name, T value, SourceLocation site) const {
  return RRef<T>(detail::publish(*state_, std::string(name), {detail::identity_of<T>(), RRef<T>::wire_name()},
                                 detail::ValueBox::of<T>(std::move(value)), site));
}

inline bool Scope::unpublish(std::string_view name) const { return detail::unpublish(*state_, std::string(name)); }

template <class T>
RRef<T> Scope::find(To to, std::string_view name) const {
  return find_async<T>(std::move(to), name).get();
}

template <class T>
Future<RRef<T>> Scope::find_async(To to, std::string_view name) const {
  auto encoder = encode(to, &detail::find_published, std::string(name), detail::identity_of<T>());
  auto expected = detail::expect<RRef<T>>(state_);
  encoder.call_as("find \"" + std::string(name) + '"', *expected.call);
  return std::move(expected.future);
}

template <class F, class... Args>
RRef<detail::Stored<detail::ResultFor<F, Args...>>> Scope::remote(To to, const F& callable, Args&&... args) const {
  using R = detail::Stored<detail::ResultFor<F, Args...>>;
  return RRef<R>(detail::remote(encode(to, callable, std::forward<Args>(args)...), RRef<R>::wire_name()));
}

}  // namespace troupe

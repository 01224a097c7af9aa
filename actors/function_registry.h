// Which functions a node serves, and under which names. An object passed to the node: no function registers itself.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <variant>
#include <vector>

#include "actors/callable.h"
#include "actors/calls/callee.h"
#include "actors/calls/registered_function.h"
#include "actors/calls/value_box.h"
#include "actors/exceptions.h"
#include "actors/scope.h"
#include "actors/stream.h"
#include "actors/task.h"
#include "messages/ids.h"
#include "messages/schema.h"

namespace troupe {

namespace detail {

class FunctionTable;

/// The scope and the arguments of one served call. A later result and a stream keep it alive.
template <class Values>
struct Served {
  explicit Served(const TaskPlace& place) : scope(std::const_pointer_cast<ScopeState>(place.scope)) {}
  explicit Served(std::shared_ptr<ScopeState> state) : scope(std::move(state)) {}
  Scope scope;
  Values values;
};

/// Returns the scope of a stream's function, which outlives the call; each of its calls may take as long as that one.
[[nodiscard]] std::shared_ptr<ScopeState> stream_scope(const TaskPlace& place, const std::stop_source& stop);

template <class T>
LaterValue later_value(Future<T> future, std::shared_ptr<void> served) {
  return [future = std::move(future), served = std::move(served)](ValueHandler done) {
    future.state().on_done([future, served, done = std::move(done)](const Error* refused) {
      if (refused != nullptr) return done(*refused);
      const auto& result = future.state().result();
      done(result ? Result<ValueBox>(ValueBox::of(result.value())) : Result<ValueBox>(result.error()));
    });
  };
}

template <class T>
Future<T> started(Task<T> task, const TaskPlace& place) {
  return std::move(task).start_in(std::make_shared<TaskPlace>(place));
}

/// The function has returned a future: it goes on without its turn on the value.
template <class T>
Future<T> started(Future<T> future, const TaskPlace& place) {
  static_cast<void>(future.state());  // throws if there is none
  if (place.turn) place.turn->leave();
  return future;
}

/// Decodes values of these types, says so to `arguments`, and calls `call(scope, values...)`, which returns as F does.
template <class F, class Call, class... Values>
std::variant<ValueBox, LaterValue> run_with(std::type_identity<std::tuple<Values...>> /*values*/,
                                            const TaskPlace& place, PayloadReader& arguments, const Call& call) {
  using R = typename Signature<F>::Returned;
  using ServedValues = Served<std::tuple<Values...>>;
  constexpr auto each = std::index_sequence_for<Values...>{};
  const auto decode = [&arguments]<std::size_t... I>(ServedValues& served, std::index_sequence<I...>) {
    (arguments.archive()(std::get<I>(served.values)), ...);
    arguments.begin_function();
  };
  const auto run = [&call]<std::size_t... I>(ServedValues& served, std::index_sequence<I...>) -> decltype(auto) {
    return call(served.scope, std::move(std::get<I>(served.values))...);
  };
  if constexpr (is_stream<R>) {
    const std::stop_source stop;
    const auto served = std::make_shared<ServedValues>(stream_scope(place, stop));
    decode(*served, each);
    R stream = [&] {  // a function that is no coroutine runs now, and is cancelled with its call
      const std::stop_callback ends(place.scope->stop, [stop]() mutable { stop.request_stop(); });
      return run(*served, each);
    }();
    stream.keep(served, stop, place.turn);
    return ValueBox::of(std::move(stream));
  } else if constexpr (Signature<F>::is_later) {
    const auto served = std::make_shared<ServedValues>(place);
    decode(*served, each);
    return later_value(started(run(*served, each), place), served);
  } else {
    ServedValues served(place);
    decode(served, each);
    if constexpr (std::is_void_v<R>) {
      run(served, each);
      return ValueBox::of(Unit{});
    } else if constexpr (std::is_nothrow_move_constructible_v<R>) {  // a type that only copies may be large
      return ValueBox::of<R>(run(served, each));
    } else {
      return ValueBox::made_by<R>([&]() -> decltype(auto) { return run(served, each); });
    }
  }
}

/// A callable with what it runs on: a member function's object; or the first argument of a function, if `on_value`.
template <class F, bool on_value>
struct BoundCallable {
  const F& callable;
  void* object;

  template <class... Values>
  decltype(auto) operator()(Scope& scope, Values&&... values) const {
    using S = Signature<F>;
    if constexpr (!std::is_void_v<typename S::Object>) {
      auto& self = *static_cast<typename S::Object*>(object);
      if constexpr (S::takes_scope) return (self.*callable)(scope, std::forward<Values>(values)...);
      else return (self.*callable)(std::forward<Values>(values)...);
    } else if constexpr (on_value) {
      const auto& self = *static_cast<const typename RunsOn<F>::Type*>(object);
      if constexpr (S::takes_scope) return callable(scope, self, std::forward<Values>(values)...);
      else return callable(self, std::forward<Values>(values)...);
    } else {
      if constexpr (S::takes_scope) return callable(scope, std::forward<Values>(values)...);
      else return callable(std::forward<Values>(values)...);
    }
  }
};

template <class Wire>
inline constexpr bool all_travel = false;
template <class... P>
inline constexpr bool all_travel<std::tuple<P...>> = (Travels<P> && ...);

/// Whether callers can pass the parameters of an F: all, or all but the value on which it runs.
template <class F>
inline constexpr bool takes_what_travels = all_travel<WireOf<F>>;
template <class F>
  requires(!std::is_void_v<typename RunsOn<F>::Type>)
inline constexpr bool takes_what_travels<F> = all_travel<typename AfterFirst<WireOf<F>>::Rest>;

/// Runs `callable` with decoded arguments. `object`: the object of a member function, or the first argument of a free
/// function that runs on a value; null otherwise.
template <class F>
std::variant<ValueBox, LaterValue> run_decoded(const F& callable, const TaskPlace& place, PayloadReader& arguments,
                                               void* object) {
  if constexpr (!std::is_void_v<typename RunsOn<F>::Type>) {
    using Rest = std::type_identity<typename AfterFirst<WireOf<F>>::Rest>;
    if (object != nullptr) return run_with<F>(Rest{}, place, arguments, BoundCallable<F, true>{callable, object});
  }
  if constexpr (all_travel<WireOf<F>>) {
    return run_with<F>(std::type_identity<WireOf<F>>{}, place, arguments, BoundCallable<F, false>{callable, object});
  } else {  // no caller can pass the value
    throw DecodeError("its first argument cannot travel: it is called on a reference to the value");
  }
}

/// The class of the values on which a callable runs; null if it runs on none.
template <class F>
const std::type_info* object_type() {
  using Object = std::conditional_t<std::is_void_v<ObjectOf<F>>, typename RunsOn<F>::Type, ObjectOf<F>>;
  if constexpr (std::is_void_v<Object>) return nullptr;
  else return &typeid(Object);
}

template <class F>
Fingerprint fingerprint_of_callable() {
  using S = Signature<F>;
  return []<class... P>(std::type_identity<std::tuple<P...>>) {
    return fingerprint_of<Stored<typename S::Result>, P...>();
  }(std::type_identity<typename S::Wire>{});
}

/// The entry of a callable under `name`, run by `run`.
template <class F>
RegisteredFunction registered_with(std::string name, const F& callable, RegisteredFunction::Run run) {
  using R = typename Signature<F>::Result;
  return {.name = std::move(name),
          .key = {},
          .local_key = key_of(callable),
          .fingerprint = fingerprint_of_callable<F>(),
          .is_member = !std::is_void_v<ObjectOf<F>>,
          .changes_object = Signature<F>::changes_object && !std::is_void_v<ObjectOf<F>>,
          .answers_small = std::is_void_v<R> || std::is_arithmetic_v<R> || std::is_enum_v<R>,
          .object = object_type<F>(),
          .run = std::move(run)};
}

/// Runs the F whose key is given.
using RunByKey = std::variant<ValueBox, LaterValue> (*)(const CallableKey& key, const TaskPlace& place,
                                                        PayloadReader& arguments, void* object);
[[nodiscard]] RegisteredFunction::Run run_by_key(const CallableKey& key, RunByKey run);

template <class F>
RegisteredFunction registered(std::string name, const F& callable) {
  if constexpr (has_pointer_key<F>) {  // then all share one closure type: half of the code that a registration makes
    const RunByKey run = [](const CallableKey& key, const TaskPlace& place, PayloadReader& arguments, void* object) {
      return run_decoded<F>(pointer_of<F>(key), place, arguments, object);
    };
    return registered_with(std::move(name), callable, run_by_key(key_of(callable), run));
  } else {
    const auto run = [callable](const TaskPlace& place, PayloadReader& arguments, void* object) {
      return run_decoded<F>(callable, place, arguments, object);
    };
    return registered_with(std::move(name), callable, run);
  }
}

}  // namespace detail

/// An object that stands for several functions, all of whose names begin with the given one.
template <class G>
concept FunctionGroup = requires(const G& group, const std::string& name) {
  { group.functions(name) } -> std::same_as<std::vector<detail::RegisteredFunction>>;
};

/// A named callable (function, member function, captureless lambda, function object), a named group of them, or a named
/// exception type.
class Registration {
 public:
  using Entry = std::variant<detail::RegisteredFunction, detail::RegisteredException>;

  template <FunctionGroup G>
  Registration(const std::string& name, const G& group) {
    for (detail::RegisteredFunction& function : group.functions(name)) add(std::move(function));
  }

  /// Registers a function whose last parameters have default values.
  template <class F, class... D>
  Registration(std::string name, const detail::WithDefaults<F, D...>& callable)
      : Registration(std::move(name), callable.callable) {}

  template <class F = detail::OneOfSeveral>
    requires(!FunctionGroup<F> && detail::is_checked<F>)
  Registration(std::string name, F callable) {
    static_assert(
        detail::takes_what_travels<F>,
        "a parameter of this callable cannot travel: give its type a default constructor and a serialize, make it a "
        "struct of at most 16 public fields without pointers, references and base class, or send an RRef to it");
    if constexpr (detail::takes_what_travels<F>) add(detail::registered(std::move(name), callable));
  }

  explicit Registration(detail::RegisteredException type);

  ~Registration();
  Registration(const Registration&);
  Registration(Registration&&) noexcept;
  Registration& operator=(const Registration&);
  Registration& operator=(Registration&&) noexcept;

  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }

 private:
  void add(detail::RegisteredFunction function);

  std::vector<Entry> entries_;
};

/// Registers an exception type under `name`: thrown by a served function, it arrives at the caller as that type
/// (exceptions.h).
template <class E>
[[nodiscard]] Registration exception(std::string name) {
  return Registration(detail::registered_exception<E>(std::move(name)));
}

/// Immutable after construction. Copies are cheap; nodes may share one.
class FunctionRegistry {
 public:
  FunctionRegistry();
  FunctionRegistry(const FunctionRegistry&) = default;  // also moves: a moved-from registry keeps its functions
  FunctionRegistry& operator=(const FunctionRegistry&) = default;

  /// Throws std::invalid_argument on an empty name, a name given twice, or one callable under two names.
  FunctionRegistry(std::initializer_list<Registration> registrations);

  /// Returns a registry of both. Throws as the constructor does.
  [[nodiscard]] FunctionRegistry with(std::initializer_list<Registration> registrations) const;

  /// Returns the names of the functions, in alphabetical order.
  [[nodiscard]] std::vector<std::string> names() const;

  /// Returns the table in which a node looks functions up.
  [[nodiscard]] const detail::FunctionTable& table() const { return *table_; }

 private:
  std::shared_ptr<const detail::FunctionTable> table_;  // never null
};

/// Makes a `T` from arguments that travel. Register `constructor<T, int, int>`, then call `scope.remote("ps",
/// constructor<T, int, int>, 3, 4)`.
template <class T, class... Args>
inline constexpr auto constructor = [](Args... args) { return T(std::move(args)...); };

}  // namespace troupe

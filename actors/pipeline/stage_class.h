// A class of modules that can be a stage of a pipeline: the functions through which pipelines use it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "actors/function_registry.h"
#include "actors/modules/module_class.h"
#include "actors/modules/on_device.h"
#include "actors/pipeline/pieces.h"
#include "actors/pipeline/stage_work.h"
#include "actors/rref.h"
#include "actors/task.h"
#include "autograd/checkpoint.h"

namespace troupe::detail {

/// The results of a forward: the elements of a tuple, or one.
template <class T>
struct StageResults {
  using List = std::tuple<T>;
  static constexpr bool kMany = false;
};
template <class... Ts>
struct StageResults<std::tuple<Ts...>> {
  using List = std::tuple<Ts...>;
  static constexpr bool kMany = true;
};

template <class M>
using StageParameters = WireOf<ForwardOf<M>>;
template <class M>
using StageResult = typename Signature<ForwardOf<M>>::Returned;

/// The first N types of a tuple as the one type that a stage before gives: a bare one if N is 1.
template <std::size_t N, class... Ts>
struct FirstTypes {
  template <std::size_t... I>
  static std::tuple<std::tuple_element_t<I, std::tuple<Ts...>>...> list(std::index_sequence<I...>);
  using Type = decltype(list(std::make_index_sequence<N>{}));
};
template <class T, class... Ts>
struct FirstTypes<1, T, Ts...> {
  using Type = T;
};
template <std::size_t N, class Tuple>
struct FirstOf;
template <std::size_t N, class... Ts>
struct FirstOf<N, std::tuple<Ts...>> : FirstTypes<N, Ts...> {};

/// How many lists of several first results, but not all, there are.
template <std::size_t Results>
inline constexpr std::size_t kFirstCounts = Results > 2 ? Results - 2 : 0;

// These stand for functions of the stage's node.

/// Runs a micro-batch. Never called: the callee's registry has its body.
template <class M>
struct RunStage {
  StageResult<M> operator()(Scope& scope, const RRef<StageSeat>& seat, const RRef<M>& module,
                            const StageTask& task) const;
};

/// Makes one result of those of the micro-batches of a round.
template <class M>
struct JoinResults {
  Task<StageResult<M>> operator()(Scope& scope, const std::vector<RRef<StageResult<M>>>& parts) const {
    std::vector<Future<StageResult<M>>> arriving;
    for (const auto& part : parts) arriving.push_back(part.to_here_async(scope));
    std::vector<StageResult<M>> values;
    for (const auto& one : arriving) values.push_back(co_await one);
    co_return joined(values);
  }
};

/// Takes result I of the results of a stage.
template <class M, std::size_t I>
struct ResultOfStage {
  auto operator()(const StageResult<M>& results) const { return std::get<I>(results); }
};

/// Takes the first N results of a stage.
template <class M, std::size_t N>
struct FirstResultsOfStage {
  typename FirstOf<N, StageResult<M>>::Type operator()(const StageResult<M>& results) const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::make_tuple(std::get<I>(results)...);
    }(std::make_index_sequence<N>{});
  }
};

/// Calls `visit` on each defined Variable in `value`, in the order of visit_tensors.
template <class T, class Visit>
void visit_variables(T& value, const Visit& visit) {
  visit_tensors(value, [&]<class V>(V& tensor) {
    if constexpr (std::is_same_v<V, Variable>) {
      if (tensor.defined()) visit(tensor);
    }
  });
}

/// A replica whose forward takes no Scope.
template <class M>
concept HasSynchronize = requires(M& module, const Scope& scope) { module.synchronize(scope); };

/// One micro-batch in a stage of class M, with all that its task refers to.
template <class M>
class WorkOf final : public StageWork {
  using Parameters = StageParameters<M>;
  using R = StageResult<M>;
  static constexpr std::size_t kArity = std::tuple_size_v<Parameters>;

 public:
  WorkOf(const TaskPlace& place, PayloadReader& arguments) : scope_(std::const_pointer_cast<ScopeState>(place.scope)) {
    arguments.archive()(seat_, module_, task_);
    arguments.all_decoded();
    arguments.begin_function();
  }

  /// Starts the task of `self`. Its result is that of the module's forward.
  static LaterValue start(const std::shared_ptr<WorkOf>& self, const TaskPlace& place) {
    const Future<void> done =
        perform_stage(self->scope_, self->seat_, self->task_, *self).start_in(std::make_shared<TaskPlace>(place));
    return [done, self](ValueHandler handler) {
      done.state().on_done([done, self, handler = std::move(handler)](const Error* refused) {
        if (refused != nullptr) return handler(*refused);
        const auto& outcome = done.state().result();
        handler(outcome ? Result<ValueBox>(ValueBox::of<R>(*std::exchange(self->result_, std::nullopt)))
                        : Result<ValueBox>(outcome.error()));
      });
    };
  }

  [[nodiscard]] std::vector<Future<void>> fetch(const Scope& scope) override {
    std::vector<Future<void>> arrivals;
    const std::size_t count = task_.inputs.size();
    if (count < 1 || count > kArity) throw std::invalid_argument("[Pipeline] not as many inputs as the stage has");
    const std::size_t first_popped = kArity - (count - 1);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((I + 1 == first_popped ? fetch_first<I + 1>(scope, arrivals) : void()), ...);
      ((I >= first_popped ? fetch_one<I>(scope, task_.inputs[I - first_popped + 1], arrivals) : void()), ...);
    }(std::make_index_sequence<kArity>{});
    return arrivals;
  }

  void take() override {
    for (const auto& take_one : takers_) take_one();
    takers_.clear();
  }

  void run(Scope& scope) override {
    if (!module_.defined()) throw std::invalid_argument("[Pipeline] the stage has no module");
    const PinnedValue pinned = use_here(scope.state(), module_.shared_handle());
    const std::shared_ptr<M> module = pinned.box.template as<M>();
    if (module == nullptr) throw std::invalid_argument("[Pipeline] the module is of another class than the stage");
    const Device device = module->device();
    move_tensors(arguments_, [device](Device /*home*/) { return device; });
    std::vector<Variable> inputs;
    visit_variables(arguments_, [&](Variable& one) { inputs.push_back(one); });
    if constexpr (HasSynchronize<M>) {
      if (task_.records && module->mode() == nn::Mode::train) module->synchronize(scope);
    }
    const auto first = std::make_shared<std::optional<R>>();  // of the first run; replays leave it alone
    if (task_.recomputes) visit_variables(arguments_, [](Variable& one) { one = one.detach(); });
    const ForwardCall call = [module, first, arguments = std::move(arguments_),
                              scope](std::span<const Variable> given) {
      Parameters now = arguments;
      std::size_t next = 0;
      visit_variables(now, [&](Variable& one) { one = given[next++]; });
      R result = forward(*module, scope, std::move(now));
      std::vector<Variable> variables;
      visit_variables(result, [&](Variable& one) { variables.push_back(one); });
      if (!recomputing()) first->emplace(std::move(result));
      return variables;
    };
    const std::vector<Variable> outputs = run_module(task_, *module, inputs, call);
    result_ = *std::exchange(*first, std::nullopt);
    std::size_t next = 0;
    visit_variables(*result_, [&](Variable& one) { one = outputs[next++]; });
  }

  [[nodiscard]] bool requires_grad() const override {
    bool any = false;
    R result = *result_;
    visit_variables(result, [&](Variable& one) { any = any || one.requires_grad(); });
    return any;
  }

 private:
  static R forward(M& module, [[maybe_unused]] Scope scope, Parameters&& arguments) {
    return std::apply(
        [&](auto&... argument) -> R {
          if constexpr (Signature<ForwardOf<M>>::takes_scope) return module.forward(scope, std::move(argument)...);
          else return module.forward(std::move(argument)...);
        },
        arguments);
  }

  /// Fetches the result of the stage before: the first N arguments.
  template <std::size_t N>
  void fetch_first(const Scope& scope, std::vector<Future<void>>& arrivals) {
    if constexpr (N == 1) {
      fetch_one<0>(scope, task_.inputs[0], arrivals);
    } else {
      using Given = typename FirstOf<N, Parameters>::Type;
      const Future<Given> given = task_.inputs[0].template as<Given>().to_here_async(scope);
      arrivals.push_back(arrival_of(given));
      takers_.push_back([this, given] {
        Given values = given.get();
        [&]<std::size_t... I>(std::index_sequence<I...>) {
          ((std::get<I>(arguments_) = std::move(std::get<I>(values))), ...);
        }(std::make_index_sequence<N>{});
      });
    }
  }

  template <std::size_t I>
  void fetch_one(const Scope& scope, const AnyRRef& from, std::vector<Future<void>>& arrivals) {
    using Given = std::tuple_element_t<I, Parameters>;
    const Future<Given> given = from.as<Given>().to_here_async(scope);
    arrivals.push_back(arrival_of(given));
    takers_.push_back([this, given] { std::get<I>(arguments_) = given.get(); });
  }

  Scope scope_;
  RRef<StageSeat> seat_;  // until the task has begun
  RRef<M> module_;
  StageTask task_;
  std::vector<std::function<void()>> takers_;  // in the order of arguments
  Parameters arguments_;
  std::optional<R> result_;
};

/// The functions of a ModuleClass, and those of a stage.
template <class M, class... Args>
struct StageClass : ModuleClass<M, Args...> {
  using R = StageResult<M>;
  static_assert(!Signature<ForwardOf<M>>::is_later && !std::is_void_v<R>,
                "a stage's forward returns its result: not a Task or Future, and not nothing");
  static_assert(std::tuple_size_v<StageParameters<M>> > 0, "a stage's forward has a parameter");

  [[nodiscard]] std::vector<RegisteredFunction> functions(const std::string& name) const {
    std::vector<RegisteredFunction> all = ModuleClass<M, Args...>::functions(name);
    const auto run = [](const TaskPlace& place, PayloadReader& arguments,
                        void* /*object*/) -> std::variant<ValueBox, LaterValue> {
      return WorkOf<M>::start(std::make_shared<WorkOf<M>>(place, arguments), place);
    };
    all.push_back(registered_with(name + "::stage", RunStage<M>{}, run));
    all.push_back(registered(name + "::join", JoinResults<M>{}));
    if constexpr (StageResults<R>::kMany) add_results(all, name, std::make_index_sequence<std::tuple_size_v<R>>{});
    return all;
  }

 private:
  template <std::size_t... I>
  static void add_results(std::vector<RegisteredFunction>& all, const std::string& name, std::index_sequence<I...>) {
    (all.push_back(registered(name + "::result " + std::to_string(I), ResultOfStage<M, I>{})), ...);
    [&]<std::size_t... N>(std::index_sequence<N...>) {
      (all.push_back(registered(name + "::results " + std::to_string(N + 2), FirstResultsOfStage<M, N + 2>{})), ...);
    }(std::make_index_sequence<kFirstCounts<sizeof...(I)>>{});
  }
};

}  // namespace troupe::detail

namespace troupe {

/// As module_class, for modules that may be stages of a Pipeline. forward returns a value or a tuple of values. The
/// tensors in them are those in vectors, arrays, optionals, pairs, tuples and the values of maps.
template <class M, class... Args>
inline constexpr detail::StageClass<M, Args...> stage_class{};

}  // namespace troupe

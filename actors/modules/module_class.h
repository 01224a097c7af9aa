// A class of modules, with the parameters of its constructor, and the functions through which other nodes use it.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <variant>
#include <vector>

#include "actors/checkpoint/remote_part.h"
#include "actors/function_registry.h"
#include "actors/modules/on_device.h"
#include "actors/modules/parameters_of.h"
#include "actors/rref.h"
#include "autograd/nn/module.h"
#include "autograd/variable.h"
#include "tensor/device.h"
#include "tensor/generator.h"

namespace troupe {

namespace detail {

/// A Generator in a call: the module is made with a copy of it, in its present state.
struct GeneratorState {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
  std::uint64_t blocks = 0;  ///< drawn so far

  GeneratorState() = default;
  GeneratorState(const Generator& generator);
  [[nodiscard]] Generator generator() const;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(seed, stream, blocks);
  }
};

/// The type in which an argument of a constructor travels.
template <class Arg>
struct ConstructorArgument {
  using Wire = Arg;
  static Arg made(Wire&& wire) { return std::move(wire); }
};
template <>
struct ConstructorArgument<Generator> {
  using Wire = GeneratorState;
  static Generator made(Wire&& wire) { return wire.generator(); }
};

/// Stands for the function that makes an M on a device. Never called here: the callee's registry has its body.
template <class M, class... Args>
struct MakeModule {
  M operator()(Device device, typename ConstructorArgument<Args>::Wire... args) const;
};

template <class M>
using ForwardOf = decltype(member_of<M>(&M::forward));

/// Stands for M::forward with a result on devices that reach the caller; `records`: as the caller's guards say.
template <class M, bool records, class Wire = WireOf<ForwardOf<M>>>
struct ForwardToCaller;
template <class M, bool records, class... P>
struct ForwardToCaller<M, records, std::tuple<P...>> {
  typename Signature<ForwardOf<M>>::Returned operator()(Scope& scope, const M& module, P... args) const;
};

/// Makes an M from lvalues if its constructor takes them (a Generator&), otherwise from rvalues.
template <class M, class... Args>
std::shared_ptr<M> make_module(std::tuple<Args...>& args) {
  return std::apply(
      [](auto&... arg) {
        if constexpr (std::is_constructible_v<M, Args&...>) return std::make_shared<M>(arg...);
        else return std::make_shared<M>(std::move(arg)...);
      },
      args);
}

/// The device on which a tensor of `scope`'s answer must be to reach the caller: its own if a device map has it, or the
/// CPU.
[[nodiscard]] Device device_to_caller(const ScopeState& scope, Device home);

/// Warns, once for each class of modules, if a caller outside a context gets `result` of one's forward and no gradient
/// comes back for it, as one would for a result that is not a leaf.
void warn_of_cut_graph(const ScopeState& scope, const std::type_info& module, const Variable& result);

/// How M::forward is served.
struct ForwardOptions {
  bool to_caller = false;  ///< moves the result to devices that reach the caller
  bool records = true;     ///< false: under a NoGradGuard
};

/// Runs M::forward with the tensors of its arguments on the module's device.
template <class M>
RegisteredFunction::Run run_forward(ForwardOptions options) {
  using F = ForwardOf<M>;
  return [options](const TaskPlace& place, PayloadReader& arguments, void* object) {
    return run_with<F>(std::type_identity<WireOf<F>>{}, place, arguments,
                       [&](Scope& scope, auto&&... args) -> typename Signature<F>::Returned {
                         M& self = *static_cast<M*>(object);
                         const F forward = &M::forward;
                         const Device device = self.device();
                         std::optional<NoGradGuard> without_graph;
                         if (!options.records) without_graph.emplace();
                         (move_tensors(args, [device](Device /*home*/) { return device; }), ...);
                         const auto call = [&]() -> decltype(auto) {
                           if constexpr (Signature<F>::takes_scope) return (self.*forward)(scope, std::move(args)...);
                           else return (self.*forward)(std::move(args)...);
                         };
                         if constexpr (Signature<F>::is_later || std::is_void_v<typename Signature<F>::Returned>) {
                           return call();
                         } else {
                           typename Signature<F>::Returned result = call();
                           if (options.to_caller) {
                             visit_tensors(result, [&scope]<class T>(const T& part) {
                               if constexpr (std::is_same_v<T, Variable>)
                                 warn_of_cut_graph(scope.state(), typeid(M), part);
                             });
                             move_tensors(result, [&](Device home) { return device_to_caller(scope.state(), home); });
                           }
                           return result;
                         }
                       });
  };
}

/// A class of modules that nodes make for each other.
template <class M, class... Args>
struct ModuleClass {
  static_assert(std::derived_from<M, nn::Module>, "not a class of modules: derive it from nn::Module or nn::Layer");

  /// Returns the functions to register under `name`; for Registration.
  [[nodiscard]] std::vector<RegisteredFunction> functions(const std::string& name) const {
    const auto make = [](const TaskPlace& /*place*/, PayloadReader& arguments,
                         void* /*object*/) -> std::variant<ValueBox, LaterValue> {
      Device device;
      std::tuple<typename ConstructorArgument<Args>::Wire...> wire;
      arguments.archive()(device);
      require_available("RemoteModule", device);
      std::apply([&](auto&... arg) { (arguments.archive()(arg), ...); }, wire);
      auto args = std::apply(
          [](auto&... arg) { return std::tuple<Args...>(ConstructorArgument<Args>::made(std::move(arg))...); }, wire);
      arguments.begin_function();
      const std::shared_ptr<M> module = make_module<M>(args);
      if (device != module->device()) module->to(device);
      return ValueBox{module, &value_ops<M>()};
    };
    std::vector<RegisteredFunction> all;
    all.push_back(registered_with(name, MakeModule<M, Args...>{}, make));
    all.push_back(registered_with(name + "::forward", ForwardOf<M>(&M::forward), run_forward<M>({})));
    all.push_back(
        registered_with(name + "::forward_to_caller", ForwardToCaller<M, true>{}, run_forward<M>({.to_caller = true})));
    all.back().changes_object = Signature<ForwardOf<M>>::changes_object;
    all.push_back(registered_with(name + "::forward_without_graph", ForwardToCaller<M, false>{},
                                  run_forward<M>({.to_caller = true, .records = false})));
    all.back().changes_object = Signature<ForwardOf<M>>::changes_object;
    all.push_back(registered(name + "::set_mode", member_of<M>(&nn::Module::set_mode)));
    all.push_back(registered(name + "::mode", member_of<M>(&nn::Module::mode)));
    all.push_back(registered(name + "::device", member_of<M>(&nn::Module::device)));
    all.push_back(registered(name + "::parameters", &parameters_at_owner<M>));
    all.push_back(registered(name + "::snapshot", &snapshot_at_owner<M>));
    all.push_back(registered(name + "::staged", &stage_at_owner<M>));
    return all;
  }
};

}  // namespace detail

/// Names a class of modules and the parameters of its constructor. Declare `inline constexpr auto mlp =
/// module_class<Mlp, std::int64_t, double>;`, register `{"mlp", mlp}` on every node, and make one with
/// `RemoteModule(node, "ps0/cuda:0", mlp, 128, 0.1)`. A parameter Generator& is named `Generator`: the module is made
/// with a copy. REQUIRES: M::forward is one function, not overloaded and not a template.
template <class M, class... Args>
inline constexpr detail::ModuleClass<M, Args...> module_class{};

}  // namespace troupe

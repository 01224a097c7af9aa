// Gradient checkpointing: memory for time.
//
//   Variable hidden = checkpoint([&](const Variable& in) { return block(in); }, x);
#pragma once

#include <array>
#include <concepts>
#include <functional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "autograd/variable.h"

namespace troupe {

namespace detail {

using CheckpointedFunction = std::function<std::vector<Variable>(std::span<const Variable> inputs)>;

[[nodiscard]] std::vector<Variable> checkpoint(CheckpointedFunction f, std::span<const Variable> inputs);

template <class>
using AsVariable = const Variable&;

}  // namespace detail

/// Returns what `f(inputs...)` returns, a Variable or a std::vector of them, but keeps nothing of what its operations
/// save: only its inputs and the parameters it read. A backward pass that needs it computes `f` again, once per pass,
/// on its own thread, and differentiates that. Values and gradients are the same, bit for bit where a variable is used
/// inside one checkpoint only; one that is used in several places is summed inside each checkpoint first.
///
/// `f` is kept with the graph and called again: what it holds by reference (a module) outlives the graph, and several
/// passes at once call it at once. It does the same every time, of its inputs and of what it reads:
///   - Variables that require a gradient may be read as if they were inputs. The replay sees the values that they had,
///     also if Variable::set_value() replaced them meanwhile, and their gradients are found.
///   - Operations on variables that take a Generator (dropout) draw the same numbers again, from a copy: the generator
///     stays as it is. Draws of tensor functions are not noticed: `f` copies such a generator.
///   - recomputing() tells a module that counts or averages what it sees that it has seen this before.
///   - Constants and buffers are read as they are then. Calls to other nodes and other threads do not belong into it.
/// Checkpoints nest. Results that are not floating point are constants; under a NoGradGuard, or without a gradient to
/// compute, this is `f(inputs...)`. A BackwardError says where a replay fails: `[backward] checkpoint: ...`, with what
/// `f` threw or one of
///   `the function gave f64 (3) as result 0, f64 (2) before`, `the function gave 2 results, 1 before`,
///   `the function read a variable that it did not read before`.
/// Source: Chen et al., "Training deep nets with sublinear memory cost", 2016.
template <class F, std::convertible_to<Variable>... Inputs>
[[nodiscard]] auto checkpoint(F f, const Inputs&... inputs) {
  using Result = std::invoke_result_t<F&, detail::AsVariable<Inputs>...>;
  constexpr bool kOne = std::is_same_v<Result, Variable>;
  static_assert(kOne || std::is_same_v<Result, std::vector<Variable>>,
                "a checkpointed function returns a Variable or a std::vector<Variable>");
  auto call = [f = std::move(f)](std::span<const Variable> given) mutable -> std::vector<Variable> {
    return [&]<std::size_t... I>(std::index_sequence<I...>) -> std::vector<Variable> {
      if constexpr (kOne) {
        return {f(given[I]...)};
      } else {
        return f(given[I]...);
      }
    }(std::index_sequence_for<Inputs...>());
  };
  const std::array<Variable, sizeof...(Inputs)> all{Variable(inputs)...};
  std::vector<Variable> results = detail::checkpoint(std::move(call), all);
  if constexpr (kOne) {
    return std::move(results.front());
  } else {
    return results;
  }
}

/// Whether this thread computes a checkpointed function again, for a backward pass.
[[nodiscard]] bool recomputing() noexcept;

}  // namespace troupe

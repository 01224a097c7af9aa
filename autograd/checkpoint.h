// Gradient checkpointing: recomputes values in backward instead of saving them.
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

/// Returns what `f(inputs...)` returns, a Variable or a std::vector of them, without saving the tensors that its
/// operations save. The graph keeps only the inputs and the parameters that `f` read. A backward pass that needs the
/// function recomputes it, once per pass and on the pass's thread, and differentiates the replay. Values and gradients
/// are equal bit for bit if each variable is used inside one checkpoint only. The gradients of a variable used in
/// several places are first summed within each checkpoint.
///
/// The graph stores `f` and calls it again. REQUIRES: objects that `f` refers to (a module) outlive the graph; `f` is
/// safe to call from several passes at once; `f` computes the same every time, from its inputs and what it reads:
///   - Variables that require a gradient may be read like inputs. The replay reads the values of the first run, also if
///     Variable::set_value() replaced them since, and the pass finds their gradients. Freezing them since changes
///     nothing; a variable that was a constant in the first run gets no gradient.
///   - Operations on variables that take a Generator (dropout) draw the same numbers again, from a copy. The generator
///     itself does not advance. Draws by tensor functions are not recorded: `f` must copy their generator.
///   - recomputing() tells a module that counts or averages its inputs that it has counted these already.
///   - Constants and buffers are read with their values at the time of the replay. `f` must not call other nodes or
///     threads.
/// Checkpoints nest. Results that are not floating point are constants. Under a NoGradGuard, or without a gradient
/// to compute, this is `f(inputs...)`. If a replay fails, the pass throws BackwardError `[backward] checkpoint: ...`
/// with the text of the exception that `f` threw, or one of
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

/// Returns whether this thread recomputes a checkpointed function for a backward pass.
[[nodiscard]] bool recomputing() noexcept;

}  // namespace troupe

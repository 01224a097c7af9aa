// The inputs of a batch, split into micro-batches.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "actors/pipeline/chunk_plan.h"
#include "actors/pipeline/loss_round.h"
#include "actors/pipeline/pieces.h"
#include "actors/pipeline/stage_class.h"
#include "actors/pipeline/stage_task.h"

namespace troupe {

/// An input of a Pipeline that is not split: every micro-batch gets all of it.
template <class T>
struct NoChunk {
  explicit NoChunk(T v) : value(std::move(v)) {}
  T value;
};

namespace detail {

template <class T>
inline constexpr bool is_no_chunk = false;
template <class T>
inline constexpr bool is_no_chunk<NoChunk<T>> = true;

/// One argument for a parameter of type P.
template <class P>
struct GivenInput {
  template <class Arg>
  explicit GivenInput(Arg&& arg)
      : value(value_of(std::forward<Arg>(arg))), is_split(Splits<P> && !is_no_chunk<std::decay_t<Arg>>) {}

  template <class Arg>
  static P value_of(Arg&& arg) {
    if constexpr (is_no_chunk<std::decay_t<Arg>>) {
      return P(std::forward<Arg>(arg).value);
    } else {
      static_assert(std::is_convertible_v<Arg, P>, "an input is not of the type of the pipeline's parameter");
      return P(std::forward<Arg>(arg));
    }
  }

  P value;
  bool is_split;
};

/// Throws std::logic_error if `input` requires a gradient and gradients are enabled: the scope has no context.
void require_no_gradient(const Variable& input, std::size_t index);

/// Returns the values of one argument for all micro-batches.
template <class P>
[[nodiscard]] std::vector<P> split_one(const GivenInput<P>& input, const std::vector<std::int64_t>& sizes) {
  if constexpr (Splits<P>) {
    if (input.is_split) return parts_of(input.value, sizes);
  }
  return std::vector<P>(sizes.size(), input.value);
}

/// Returns the values of one argument for micro-batches that have contexts of their own: Variables in it that require a
/// gradient are cut, and added to `cut`.
template <class P>
[[nodiscard]] std::vector<P> cut_one(const GivenInput<P>& input, const std::vector<std::int64_t>& sizes,
                                     std::vector<InputWithGradient>& cut) {
  const NoGradGuard without_slices;
  std::vector<P> parts = split_one(input, sizes);
  const std::size_t first = cut.size();
  P whole = input.value;
  std::vector<bool> is_cut;
  visit_variables(whole, [&](const Variable& one) {
    is_cut.push_back(one.requires_grad());
    if (is_cut.back()) cut.push_back(cut_input(one, input.is_split, sizes));
  });
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::size_t place = 0;
    std::size_t next = first;
    visit_variables(parts[i], [&](Variable& one) {
      if (is_cut[place++]) one = cut[next++].parts[i];
    });
  }
  return parts;
}

/// Adds the rows of the arguments that are split. `what`: "input", "target".
template <class... P>
void add_rows(BatchRows& rows, const std::string& what, const GivenInput<P>&... inputs) {
  std::size_t index = 0;
  [[maybe_unused]] const auto add = [&]<class T>(const GivenInput<T>& input) {
    const std::string name = what + " " + std::to_string(index++);
    if constexpr (Splits<T>) {
      if (input.is_split) rows.add(name, rows_of(input.value, name));
    }
  };
  (add(inputs), ...);
}

template <class... P>
class SplitInputs {
 public:
  /// What the first stage takes: one value.
  using Together = typename FirstOf<sizeof...(P), std::tuple<P...>>::Type;

  /// Throws std::invalid_argument or ShapeError if the inputs cannot be split.
  SplitInputs(std::int64_t chunks, GivenInput<P>... inputs) : given_(std::move(inputs)...) {
    std::apply([&](const auto&... input) { add_rows(rows_, "input", input...); }, given_);
    sizes_ = rows_.sizes(chunks);
  }

  [[nodiscard]] const std::vector<std::int64_t>& sizes() const { return sizes_; }
  [[nodiscard]] const BatchRows& rows() const { return rows_; }

  /// Throws std::logic_error if an input requires a gradient that the scope cannot carry.
  void require_context(const Scope& scope) const {
    if (scope.state().context || !grad_enabled()) return;
    std::size_t index = 0;
    std::apply(
        [&](const auto&... input) {
          (visit_inputs(
               input, [&](const Variable& one) { require_no_gradient(one, index); }, index),
           ...);
        },
        given_);
  }

  /// Returns references to the values of the micro-batches. They are values of the scope's node.
  [[nodiscard]] std::vector<AnyRRef> references(const Scope& scope) const {
    return made(scope,
                std::apply([&](const auto&... input) { return std::tuple(split_one(input, sizes_)...); }, given_));
  }

  /// As references, for micro-batches that have contexts of their own: Variables that require a gradient are cut, and
  /// listed in `cut`.
  [[nodiscard]] std::vector<AnyRRef> cut_references(const Scope& scope, std::vector<InputWithGradient>& cut) const {
    return made(
        scope,
        std::apply([&](const auto&... input) { return std::tuple<std::vector<P>...>{cut_one(input, sizes_, cut)...}; },
                   given_));
  }

 private:
  template <class T, class Visit>
  static void visit_inputs(const GivenInput<T>& input, const Visit& visit, std::size_t& index) {
    T value = input.value;
    visit_variables(value, [&](Variable& one) { visit(one); });
    ++index;
  }

  [[nodiscard]] std::vector<AnyRRef> made(const Scope& scope, const std::tuple<std::vector<P>...>& parts) const {
    std::vector<AnyRRef> references;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      references.emplace_back(
          RRef<Together>(scope, std::apply([&](const auto&... each) { return Together(each[i]...); }, parts)));
    }
    return references;
  }

  std::tuple<GivenInput<P>...> given_;
  BatchRows rows_;
  std::vector<std::int64_t> sizes_;
};

/// The type of the value in an argument: of that in a NoChunk.
template <class Arg>
struct ValueIn {
  using Type = Arg;
};
template <class T>
struct ValueIn<NoChunk<T>> {
  using Type = T;
};

/// Returns the parts of each target, a vector per target. They have the rows of the inputs. Variables that require a
/// gradient are cut, and added to `cut`.
template <class... P, class... Targets>
[[nodiscard]] auto cut_targets(const SplitInputs<P...>& inputs, std::vector<InputWithGradient>& cut,
                               Targets&&... targets) {
  return [&]<class... T>(const GivenInput<T>&... given) {
    BatchRows rows = inputs.rows();
    add_rows(rows, "target", given...);
    return std::tuple<std::vector<T>...>{cut_one(given, inputs.sizes(), cut)...};
  }(GivenInput<typename ValueIn<std::decay_t<Targets>>::Type>(std::forward<Targets>(targets))...);
}

}  // namespace detail
}  // namespace troupe

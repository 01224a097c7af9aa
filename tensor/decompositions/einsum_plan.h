// The plan of an einsum: its permutations, sums and products, for tensors and for variables.
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/dims.h"
#include "tensor/shape.h"

namespace troupe::detail {

/// Prepares one operand for a product: expand, sum, permute and reshape, in this order.
struct EinsumArrangement {
  Shape expanded;
  std::vector<int> summed;
  std::vector<int> order;
  Shape shape;
};

/// One product: of the result so far (left) with the next operand (right).
struct EinsumStep {
  EinsumArrangement left;
  EinsumArrangement right;
  bool contracts = false;  ///< whether it is a matrix product; otherwise elementwise with broadcasting
  Shape shape;             ///< of the result
};

/// One product for each operand but the first, from left to right, and the arrangement of the last result.
struct EinsumPlan {
  std::vector<EinsumStep> steps;
  EinsumArrangement last;
};

/// Parses the equation and plans the products. Throws as einsum.
[[nodiscard]] EinsumPlan plan_einsum(std::string_view equation, const std::vector<Shape>& shapes);

/// Applies `how` to `x`; skips operations without effect.
template <class T>
[[nodiscard]] T arranged(T x, const EinsumArrangement& how) {
  if (x.shape() != how.expanded) x = expand(x, how.expanded);
  if (!how.summed.empty()) x = sum(x, Axes(how.summed));
  for (std::size_t i = 0; i < how.order.size(); ++i) {
    if (how.order[i] == static_cast<int>(i)) continue;
    x = permute(x, how.order);
    break;
  }
  return x.shape() == how.shape ? x : reshape(x, how.shape);
}

/// Runs `plan`. T: Tensor or Variable. REQUIRES: `plan` was made for the shapes of `operands`, which have one dtype.
template <class T>
[[nodiscard]] T run_einsum(const EinsumPlan& plan, std::span<const T> operands) {
  T result = operands.front();
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const EinsumStep& step = plan.steps[i];
    const T left = arranged(std::move(result), step.left);
    const T right = arranged(operands[i + 1], step.right);
    result = step.contracts ? matmul(left, right) : mul(left, right);
    if (result.shape() != step.shape) result = reshape(result, step.shape);
  }
  return arranged(std::move(result), plan.last);
}

}  // namespace troupe::detail

// What einsum does with its operands. For the tensor form and the variable form of it, which do the same.
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/dims.h"
#include "tensor/shape.h"

namespace troupe::detail {

/// How one operand is made ready for a product: expanded, summed, permuted and reshaped, in this order.
struct EinsumArrangement {
  Shape expanded;
  std::vector<int> summed;
  std::vector<int> order;
  Shape shape;
};

/// One product: of what was computed so far with the next operand.
struct EinsumStep {
  EinsumArrangement left;
  EinsumArrangement right;
  bool contracts = false;  ///< a matrix product; otherwise element by element, broadcast
  Shape shape;             ///< of the result
};

/// The products for all operands but the first, from left to right, and what is left to do with the last result.
struct EinsumPlan {
  std::vector<EinsumStep> steps;
  EinsumArrangement last;
};

/// Reads the equation. Throws as einsum does.
[[nodiscard]] EinsumPlan plan_einsum(std::string_view equation, const std::vector<Shape>& shapes);

/// `x` arranged; what changes nothing is not done.
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

/// Computes the plan of the operands' shapes, of tensors or variables of one dtype.
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

#include "tensor/ops/einsum.h"

#include "tensor/decompositions/einsum_plan.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/checks.h"
#include "tensor/ops/matmul.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/rvalue.h"
#include "tensor/ops/shape.h"

namespace troupe {

Tensor einsum(std::string_view equation, std::span<const Tensor> operands) {
  std::vector<Shape> shapes;
  DType dtype = DType::boolean;
  for (const Tensor& operand : operands) {
    detail::require_together("einsum", operands.front(), operand);
    shapes.push_back(operand.shape());
    dtype = promote(dtype, operand.dtype());
  }
  const detail::EinsumPlan plan = detail::plan_einsum(equation, shapes);
  if (dtype == DType::boolean) throw DTypeError("[einsum] not defined for boolean");
  std::vector<Tensor> converted;
  for (const Tensor& operand : operands) converted.push_back(operand.to(compute_dtype(dtype)));
  return detail::run_einsum<Tensor>(plan, converted).to(dtype);
}

Tensor einsum(std::string_view equation, std::initializer_list<Tensor> operands) {
  return einsum(equation, std::span<const Tensor>(operands));
}

}  // namespace troupe

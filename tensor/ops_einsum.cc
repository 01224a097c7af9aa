#include "tensor/ops_einsum.h"

#include "tensor/checks.h"
#include "tensor/einsum_plan.h"
#include "tensor/ops.h"

namespace troupe {

Tensor einsum(std::string_view equation, std::span<const Tensor> operands) {
  std::vector<Shape> shapes;
  DType dtype = DType::boolean;
  for (const Tensor& operand : operands) {
    detail::require_together("einsum", operands.front(), operand);
    shapes.push_back(operand.shape());
    dtype = promote(dtype, operand.dtype());
  }
  dtype = promote_to_floating(dtype);
  const detail::EinsumPlan plan = detail::plan_einsum(equation, shapes);
  std::vector<Tensor> converted;
  for (const Tensor& operand : operands) converted.push_back(operand.to(compute_dtype(dtype)));
  return detail::run_einsum<Tensor>(plan, converted).to(dtype);
}

}  // namespace troupe

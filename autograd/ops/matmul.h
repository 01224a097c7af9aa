// Products of variables. Names, shapes, dtypes and errors are those of tensor/ops/matmul.h and tensor/ops/einsum.h.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>

#include "autograd/variable.h"
#include "tensor/ops/einsum.h"
#include "tensor/ops/matmul.h"

namespace troupe {

[[nodiscard]] Variable matmul(const Variable& a, const Variable& b);
[[nodiscard]] Variable bmm(const Variable& a, const Variable& b);
[[nodiscard]] Variable addmm(const Variable& input, const Variable& a, const Variable& b, double beta = 1.0,
                             double alpha = 1.0);
[[nodiscard]] Variable baddbmm(const Variable& input, const Variable& a, const Variable& b, double beta = 1.0,
                               double alpha = 1.0);
[[nodiscard]] Variable dot(const Variable& a, const Variable& b);
[[nodiscard]] Variable mv(const Variable& a, const Variable& v);
[[nodiscard]] Variable outer(const Variable& a, const Variable& b);
/// Composed of sum, permute, reshape, mul and matmul: the graph has a vertex for each of them.
[[nodiscard]] Variable einsum(std::string_view equation, std::span<const Variable> operands);
[[nodiscard]] Variable einsum(std::string_view equation, std::initializer_list<Variable> operands);

}  // namespace troupe

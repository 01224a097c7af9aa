#include "tensor/ops/promotion.h"

#include <cmath>
#include <optional>

namespace troupe::detail {
namespace {

/// Returns the rank of the dtype's kind: 0 boolean, 1 integer, 2 floating.
int kind_of(DType dtype) {
  if (is_floating(dtype)) return 2;
  return dtype == DType::boolean ? 0 : 1;
}

DType promoted(std::optional<DType> so_far, DType dtype) { return so_far ? promote(*so_far, dtype) : dtype; }

}  // namespace

DType promoted(std::initializer_list<const Tensor*> operands) {
  std::optional<DType> wide;
  std::optional<DType> scalar;
  for (const Tensor* x : operands) {
    std::optional<DType>& of_its_rank = x->dim() > 0 ? wide : scalar;
    of_its_rank = promoted(of_its_rank, x->dtype());
  }
  if (!wide) return scalar.value_or(DType::boolean);
  if (!scalar || kind_of(*scalar) <= kind_of(*wide)) return *wide;
  return promote(*wide, *scalar);
}

DType promoted(DType dtype, double number) {
  if (is_floating(dtype)) return dtype;
  const bool is_integer = std::trunc(number) == number && number >= -0x1p63 && number < 0x1p63;
  if (!is_integer) return DType::f32;
  return dtype == DType::boolean ? DType::i64 : dtype;
}

}  // namespace troupe::detail

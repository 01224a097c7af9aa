// Tensor functions that copy, convert and compare elements.
#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/kernels/table.h"
#include "tensor/ops/checks.h"
#include "tensor/tensor.h"

namespace troupe {

Tensor Tensor::clone() const {
  require_defined("clone");
  Tensor result = empty(shape_, dtype_, device());
  kernels_of(result).convert(result, *this);
  return result;
}

Tensor Tensor::contiguous() const {
  require_defined("contiguous");
  return is_contiguous() ? *this : clone();
}

Tensor Tensor::to(DType dtype) const {
  require_defined("to");
  if (dtype == dtype_) return *this;
  Tensor result = empty(shape_, dtype, device());
  kernels_of(result).convert(result, *this);
  return result;
}

void Tensor::copy_from(const Tensor& source) {
  detail::require_together("copy_from", *this, source);
  if (!broadcasts_to(source.shape_, shape_)) {
    throw ShapeError(
        fmt::format("[copy_from] {} does not broadcast to {}", to_string(source.shape_), to_string(shape_)));
  }
  detail::require_distinct_elements("copy_from", *this);
  // Clones a source that aliases this tensor: the write could overwrite its elements before they are read.
  const Tensor from = source.storage_.same_as(storage_) ? source.clone() : source;
  kernels_of(*this).convert(*this, from.expand(shape_));
}

void Tensor::fill(double value) {
  require_defined("fill");
  detail::require_value_of("fill", value, dtype_);
  detail::require_distinct_elements("fill", *this);
  copy_from(full({}, value, dtype_, device()));
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  const Tensor x = a.to(Device::cpu()).contiguous();
  const Tensor y = b.to(Device::cpu()).contiguous();
  return std::memcmp(x.bytes(), y.bytes(), x.nbytes()) == 0;
}

bool allclose(const Tensor& a, const Tensor& b, double rtol, double atol) {
  if (a.shape() != b.shape()) return false;
  const Tensor x = a.to(Device::cpu()).to(DType::f64).contiguous();
  const Tensor y = b.to(Device::cpu()).to(DType::f64).contiguous();
  const auto xs = x.data<double>();
  const auto ys = y.data<double>();
  for (std::size_t i = 0; i < xs.size(); ++i) {
    if (xs[i] == ys[i]) continue;  // also equal infinities, whose difference is NaN
    const double difference = std::abs(xs[i] - ys[i]);
    if (!(std::isfinite(difference) && difference <= atol + rtol * std::abs(ys[i]))) return false;
  }
  return true;
}

}  // namespace troupe

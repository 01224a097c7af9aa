#include "tensor/ops/update.h"

#include <fmt/format.h>

#include <string>

#include "tensor/error.h"
#include "tensor/kernels/table.h"
#include "tensor/ops/checks.h"

namespace troupe {
namespace {

void require_like(const Tensor& x, const std::string& role, const Shape& shape, DType dtype) {
  if (x.defined() && x.is_contiguous() && x.shape() == shape && x.dtype() == dtype) return;
  throw ShapeError(fmt::format("[update] {} is not contiguous {} {}", role, name_of(dtype), to_string(shape)));
}

/// Throws unless `rows` are ascending row numbers of `value`.
void check_rows(const Tensor& rows, const Tensor& value) {
  if (value.dim() == 0) throw ShapeError("[update] a value without dimensions has no rows");
  require_like(rows, "rows", {rows.numel()}, DType::i64);
  const std::int64_t size = value.shape()[0];
  std::int64_t last = -1;
  const Tensor numbers = rows.to(Device::cpu());
  for (const std::int64_t row : numbers.data<std::int64_t>()) {
    if (row <= last || row >= size) {
      throw ValueError(fmt::format("[update] rows are not ascending numbers below {}", size));
    }
    last = row;
  }
}

void check_gradient_of_rows(const UpdateItem& item) {
  check_rows(item.rows, item.value);
  Shape of_rows = item.value.shape();
  of_rows[0] = item.rows.numel();
  require_like(item.gradient, "the gradient", of_rows, item.value.dtype());
}

void check(const UpdateItem& item) {
  const Shape& shape = item.value.shape();
  const DType dtype = item.value.dtype();
  if (!is_floating(dtype)) throw DTypeError(fmt::format("[update] not floating point: {}", name_of(dtype)));
  require_like(item.value, "the value", shape, dtype);
  if (item.rows.defined()) {
    check_gradient_of_rows(item);
  } else {
    require_like(item.gradient, "the gradient", shape, dtype);
  }
  require_like(item.next, "the next value", shape, dtype);
  const DType wide = compute_dtype(dtype);
  const std::size_t count = state_count(item.formula) + (wide == dtype ? 0 : 1);
  for (const std::size_t given : {item.states.size(), item.next_states.size()}) {
    if (given != count) throw ValueError(fmt::format("[update] {} states instead of {}", given, count));
  }
  for (std::size_t k = 0; k < count; ++k) {
    require_like(item.states[k], fmt::format("state {}", k), shape, wide);
    require_like(item.next_states[k], fmt::format("next state {}", k), shape, wide);
  }
}

std::size_t count_of(const SgdFormula& f) { return f.has_direction ? 1 : 0; }
std::size_t count_of(const AdamFormula& f) { return f.amsgrad ? 3 : 2; }
std::size_t count_of(const AdagradFormula&) { return 1; }
std::size_t count_of(const AsgdFormula&) { return 1; }
std::size_t count_of(const RmspropFormula& f) { return 1U + (f.centered ? 1U : 0U) + (f.momentum != 0.0 ? 1U : 0U); }
template <class Formula>
std::size_t count_of(const Formula&) {
  return 2;
}

/// Throws DeviceError unless all tensors are on the GPU of the first value. The CPU kernel refuses GPU tensors itself.
void require_one_gpu(std::span<const UpdateItem> items) {
  const Tensor& first = items.front().value;
  if (!kernels::on_gpu(first)) return;
  for (const UpdateItem& item : items) {
    for (const Tensor* x : {&item.value, &item.gradient, &item.next}) detail::require_together("update", first, *x);
    for (const Tensor& x : item.states) detail::require_together("update", first, x);
    for (const Tensor& x : item.next_states) detail::require_together("update", first, x);
    if (item.rows.defined()) detail::require_together("update", first, item.rows);
  }
}

}  // namespace

std::size_t state_count(const UpdateFormula& formula) {
  return std::visit([](const auto& f) { return count_of(f); }, formula);
}

void update(std::span<UpdateItem> items) {
  for (const UpdateItem& item : items) check(item);
  if (items.empty()) return;
  require_one_gpu(items);
  kernels_of(items.front().value).update(items);
}

void copy_rows(Tensor& to, const Tensor& from, const Tensor& rows) {
  require_like(from, "the tensor to copy from", from.shape(), from.dtype());
  require_like(to, "the tensor to copy to", from.shape(), from.dtype());
  check_rows(rows, from);
  if (kernels::on_gpu(to)) {
    to.copy_from(from);
  } else {
    cpu::row_kernels.copy_rows(to, from, rows);
  }
}

}  // namespace troupe

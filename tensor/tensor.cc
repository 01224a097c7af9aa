#include "tensor/tensor.h"

#include <fmt/format.h>

#include <utility>

#include "tensor/error.h"

namespace troupe {
namespace {

// Returns the number of elements of memory from the first to the last element. REQUIRES: no stride is negative.
std::int64_t extent(const Shape& shape, const Strides& strides) {
  std::int64_t last = 0;
  for (int i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return 0;
    last += (shape[i] - 1) * strides[i];
  }
  return last + 1;
}

// Returns offset + extent for untrusted numbers: throws ShapeError for negative numbers and overflow.
std::int64_t checked_end(const Shape& shape, const Strides& strides, std::int64_t offset, std::int64_t numel) {
  bool bad = offset < 0 || shape.size() != strides.size();
  std::int64_t end = offset;
  for (int i = 0; !bad && i < shape.size(); ++i) {
    std::int64_t step = 0;
    bad = strides[i] < 0 || (numel > 0 && (__builtin_mul_overflow(shape[i] - 1, strides[i], &step) ||
                                           __builtin_add_overflow(end, step, &end)));
  }
  if (!bad && numel > 0) bad = __builtin_add_overflow(end, std::int64_t{1}, &end);
  if (bad) {
    throw ShapeError(fmt::format("[from_storage] impossible layout: {} strides {} offset {}", to_string(shape),
                                 to_string(strides), offset));
  }
  return end;
}

// An invalid number from the network, cast to DType, would give elements of size 0.
void require_dtype(std::string_view op, DType dtype) {
  const auto number = static_cast<std::uint8_t>(dtype);
  if (!is_dtype(number)) throw DTypeError(fmt::format("[{}] no dtype has the number {}", op, number));
}

}  // namespace

Tensor::Tensor(Storage storage, const Shape& shape, const Strides& strides, std::int64_t offset, DType dtype)
    : storage_(std::move(storage)),
      shape_(shape),
      strides_(strides),
      offset_(offset),
      numel_(shape.numel()),
      dtype_(dtype) {}

Tensor Tensor::empty(const Shape& shape, DType dtype, Device device) {
  require_available("empty", device);
  require_dtype("empty", dtype);
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(shape.numel(), static_cast<std::int64_t>(size_of(dtype)), &bytes)) {
    throw ShapeError(fmt::format("[empty] too many elements: {}", to_string(shape)));
  }
  return {Storage::allocate(static_cast<std::size_t>(bytes), device), shape, contiguous_strides(shape), 0, dtype};
}

Tensor Tensor::from_storage(Storage storage, const Shape& shape, const Strides& strides, std::int64_t offset,
                            DType dtype) {
  if (!storage.defined()) throw TensorError("[from_storage] storage is undefined");
  require_dtype("from_storage", dtype);
  const std::int64_t end = checked_end(shape, strides, offset, shape.numel());
  const auto room = static_cast<std::int64_t>(storage.size() / size_of(dtype));
  if (end > room) {
    throw ShapeError(fmt::format("[from_storage] {} strides {} offset {} do not fit into {} elements", to_string(shape),
                                 to_string(strides), offset, room));
  }
  return {std::move(storage), shape, strides, offset, dtype};
}

std::int64_t Tensor::size(int dim) const { return shape_[normalize_dim("size", dim, shape_)]; }

bool Tensor::is_contiguous() const noexcept {
  if (numel_ == 0) return true;
  std::int64_t step = 1;
  for (int i = shape_.size() - 1; i >= 0; --i) {
    if (shape_[i] == 1) continue;
    if (strides_[i] != step) return false;
    step *= shape_[i];
  }
  return true;
}

FrozenBytes Tensor::freeze() const {
  require_defined("freeze");
  const std::size_t element_size = size_of(dtype_);
  const auto count = static_cast<std::size_t>(extent(shape_, strides_));
  return storage_.freeze().part(static_cast<std::size_t>(offset_) * element_size, count * element_size);
}

Tensor Tensor::to(Device device) const {
  require_defined("to");
  if (device == this->device()) return *this;
  require_available("to", device);
  const std::size_t size = static_cast<std::size_t>(extent(shape_, strides_)) * size_of(dtype_);
  Storage storage = Storage::allocate(size, device);
  copy_bytes(storage.mutable_data(), device, first_byte(), this->device(), size);
  return {std::move(storage), shape_, strides_, 0, dtype_};
}

void Tensor::require_defined(std::string_view op) const {
  if (!defined()) throw TensorError(fmt::format("[{}] tensor is undefined", op));
}

void Tensor::fail_not_on_cpu() const {
  throw DeviceError(
      fmt::format("[data] on {}: needs a tensor on the CPU, to(Device::cpu()) makes one", to_string(device())));
}

void Tensor::fail_too_many_elements() const {
  throw ShapeError(fmt::format("[nbytes] too many elements: {}", to_string(shape_)));
}

void Tensor::require_readable_as(std::string_view op, DType dtype) const {
  require_defined(op);
  if (dtype != dtype_) {
    throw DTypeError(fmt::format("[{}] dtype is {}, not {}", op, name_of(dtype_), name_of(dtype)));
  }
  if (!is_contiguous()) {
    throw ShapeError(fmt::format("[{}] not contiguous: {} strides {}", op, to_string(shape_), to_string(strides_)));
  }
}

void Tensor::require_one_element() const {
  require_defined("item");
  if (numel_ != 1) throw ShapeError(fmt::format("[item] not one element: {}", to_string(shape_)));
}

void Tensor::defer(std::unique_ptr<PendingWork> work) { storage_.defer(std::move(work)); }

}  // namespace troupe

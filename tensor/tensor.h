// Tensor: a handle of a strided view of shared memory. Values only; gradients are autograd's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "tensor/device.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"
#include "tensor/storage.h"

namespace troupe {

/// An n-dimensional array. Copying the handle aliases the elements; `clone()` copies them. Functions that return an
/// alias say "view". Default-constructed it is undefined: every use but `defined()`, copy and assignment throws.
///
/// Threads: as for Storage. A const function may run on several threads at once.
class Tensor {
 public:
  Tensor() = default;

  /// Returns a tensor with uninitialised elements. Throws DTypeError `[empty] no dtype has the number 11`.
  [[nodiscard]] static Tensor empty(const Shape& shape, DType dtype = DType::f32, Device device = Device::cpu());

  /// Returns a view of `storage` that starts `offset` elements into it.
  /// Throws ShapeError `[from_storage] ...` if any element would lie outside the storage or a stride is negative,
  /// DTypeError as `empty`.
  [[nodiscard]] static Tensor from_storage(Storage storage, const Shape& shape, const Strides& strides,
                                           std::int64_t offset, DType dtype);

  [[nodiscard]] bool defined() const noexcept { return storage_.defined(); }
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] const Strides& strides() const noexcept { return strides_; }
  [[nodiscard]] std::int64_t offset() const noexcept { return offset_; }
  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  [[nodiscard]] Device device() const noexcept { return storage_.device(); }
  [[nodiscard]] std::int64_t numel() const noexcept { return numel_; }
  [[nodiscard]] int dim() const noexcept { return shape_.size(); }
  /// Returns the size along `dim`; -1 is the last dimension.
  [[nodiscard]] std::int64_t size(int dim) const;
  /// Returns numel() * size_of(dtype()). Throws ShapeError `[nbytes] too many elements: (4611686018427387904)` of a view that repeats
  /// an element so often that the product does not fit.
  [[nodiscard]] std::size_t nbytes() const {
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(static_cast<std::size_t>(numel_), size_of(dtype_), &bytes)) fail_too_many_elements();
    return bytes;
  }
  [[nodiscard]] const Storage& storage() const noexcept { return storage_; }
  /// Version of the memory; grows with every write through any view of it.
  [[nodiscard]] std::uint64_t version() const noexcept { return storage_.version(); }
  [[nodiscard]] bool is_contiguous() const noexcept;

  /// Returns the elements for reading, in row-major order. Valid as long as Storage::data() says.
  /// Throws DTypeError `[data] dtype is f32, not f64`, ShapeError `[data] not contiguous: (2, 3) strides (1, 2)`,
  /// DeviceError as `bytes`. From then on no arithmetic on these elements is put off (ops/rvalue.h).
  template <Element T>
  [[nodiscard]] std::span<const T> data() const {
    require_readable_as("data", dtype_of<T>);
    const std::byte* const first = bytes();
    storage_.expose();
    return {reinterpret_cast<const T*>(first), static_cast<std::size_t>(numel_)};
  }

  /// As `data`, for writing. Every call counts a new version.
  template <Element T>
  [[nodiscard]] std::span<T> mutable_data() {
    require_readable_as("mutable_data", dtype_of<T>);
    std::byte* const first = mutable_bytes();
    storage_.expose();
    return {reinterpret_cast<T*>(first), static_cast<std::size_t>(numel_)};
  }

  /// Returns the address of the first element, of any layout; see Storage::data() and Storage::mutable_data(). Meant for a use that is
  /// over before the next operation: unlike data(), it lets arithmetic be put off.
  /// Throws DeviceError `[data] on cuda:0: needs a tensor on the CPU, to(Device::cpu()) makes one`.
  [[nodiscard]] const std::byte* bytes() const {
    require_on_cpu();
    return first_byte();
  }
  [[nodiscard]] std::byte* mutable_bytes() {
    require_on_cpu();
    return storage_.mutable_data() + static_cast<std::size_t>(offset_) * size_of(dtype_);
  }

  /// Returns the only element, converted as by `to`. Throws ShapeError `[item] not one element: (2, 3)`.
  template <Element T = double>
  [[nodiscard]] T item() const {
    require_one_element();
    return *reinterpret_cast<const T*>(to(Device::cpu()).to(dtype_of<T>).bytes());
  }

  /// As Storage::put_off(), of work on the elements.
  void put_off(std::unique_ptr<PendingWork> work) { storage_.put_off(std::move(work)); }

  /// Returns the bytes from the first element to the last, frozen (Storage::freeze). Of a contiguous tensor exactly
  /// `nbytes()`; of another they include what lies between its elements.
  [[nodiscard]] FrozenBytes freeze() const;

  /// Returns a contiguous copy with memory of its own.
  [[nodiscard]] Tensor clone() const;
  /// Returns this tensor if it is contiguous, else a contiguous copy.
  [[nodiscard]] Tensor contiguous() const;
  /// Returns this tensor if it has `dtype`, else a converted copy. Floating to integer truncates toward zero, beyond
  /// the range it saturates, NaN becomes 0; integer to integer keeps the low bits; to boolean is `!= 0`; to floating
  /// rounds to nearest, ties to even.
  [[nodiscard]] Tensor to(DType dtype) const;
  /// Returns this tensor if it is on `device`, else a copy there with the same strides.
  /// Throws DeviceError `[to] cuda:0 is not available: ...`.
  [[nodiscard]] Tensor to(Device device) const;

  /// Overwrites every element. `source` is broadcast to this shape and converted to this dtype.
  void copy_from(const Tensor& source);
  void fill(double value);

  // Views. None copies elements unless it says so. Dimensions may be negative: -1 is the last.

  /// Returns a view of another shape; one size may be -1. Throws ShapeError if the element counts differ or the layout
  /// does not allow it without a copy.
  [[nodiscard]] Tensor view(const Shape& shape) const;
  /// As `view`, but copies where the layout demands it.
  [[nodiscard]] Tensor reshape(const Shape& shape) const;
  [[nodiscard]] Tensor transpose(int dim0 = -2, int dim1 = -1) const;
  /// Dimension i of the view is dimension `dims[i]` of this.
  [[nodiscard]] Tensor permute(std::span<const int> dims) const;
  [[nodiscard]] Tensor permute(std::initializer_list<int> dims) const {
    return permute(std::span<const int>(dims.begin(), dims.size()));
  }
  /// Drops dimension `dim`, whose size must be 1.
  [[nodiscard]] Tensor squeeze(int dim) const;
  /// Drops every dimension of size 1.
  [[nodiscard]] Tensor squeeze() const;
  /// Adds a dimension of size 1 before dimension `dim`; dim() or -1 adds it at the end.
  [[nodiscard]] Tensor unsqueeze(int dim) const;
  /// Repeats dimensions of size 1 (and adds leading ones) up to `shape`, where -1 leaves the size of a dimension as it is.
  /// Throws ShapeError `[expand] (2, 3) does not broadcast to (2, 4)`, `[expand] no size to keep: (3) to (-1, 3)`.
  [[nodiscard]] Tensor expand(const Shape& shape) const;
  /// Elements begin, begin + step, ... below `end` along `dim`. Negative bounds count from the end; both are clamped.
  [[nodiscard]] Tensor slice(int dim, std::int64_t begin, std::int64_t end = std::numeric_limits<std::int64_t>::max(),
                             std::int64_t step = 1) const;
  /// The part at `index` along `dim`, without that dimension. Negative counts from the end.
  [[nodiscard]] Tensor select(int dim, std::int64_t index) const;
  /// select(0, index): of a matrix the row.
  [[nodiscard]] Tensor operator[](std::int64_t index) const { return select(0, index); }

  /// Throws TensorError `[op] tensor is undefined` unless defined().
  void require_defined(std::string_view op) const;

 private:
  Tensor(Storage storage, const Shape& shape, const Strides& strides, std::int64_t offset, DType dtype);

  void require_readable_as(std::string_view op, DType dtype) const;
  [[nodiscard]] Tensor alias(const Shape& shape, const Strides& strides, std::int64_t offset) const;
  void require_one_element() const;
  /// On whichever device.
  [[nodiscard]] const std::byte* first_byte() const noexcept {
    return storage_.data() + static_cast<std::size_t>(offset_) * size_of(dtype_);
  }
  void require_on_cpu() const {
    if (device().kind != DeviceKind::cpu) fail_not_on_cpu();
  }
  [[noreturn]] void fail_not_on_cpu() const;
  [[noreturn]] void fail_too_many_elements() const;

  Storage storage_;
  Shape shape_;
  Strides strides_;
  std::int64_t offset_ = 0;
  std::int64_t numel_ = 0;
  DType dtype_ = DType::f32;
};

/// Returns whether both have the same shape, dtype and bit pattern of every element. Two undefined ones are the same.
[[nodiscard]] bool same_bytes(const Tensor& a, const Tensor& b);

/// Returns whether shapes are equal and every |a - b| <= atol + rtol * |b|, computed in f64. NaN is close to nothing.
[[nodiscard]] bool allclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8);

}  // namespace troupe

// Tensor: a handle of a strided view of shared memory, without gradients (autograd/ adds them).
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

/// An n-dimensional array. Copies of the handle alias the elements; `clone()` copies them. Functions that return an
/// alias say "view". A default-constructed tensor is undefined: every use but `defined()`, copy and assignment throws.
///
/// Threads: as for Storage. Const functions may run on several threads at once.
class Tensor {
 public:
  Tensor() = default;

  /// Returns a tensor with uninitialised elements. Throws DTypeError `[empty] no dtype has the number 11`.
  [[nodiscard]] static Tensor empty(const Shape& shape, DType dtype = DType::f32, Device device = Device::cpu());

  /// Returns a view of `storage` that starts `offset` elements into it.
  /// Throws ShapeError `[from_storage] ...` if an element would lie outside the storage or a stride is negative;
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
  /// Returns the size along `dim`; -1 is the last dimension. Throws ShapeError
  /// `[size] dimension out of range: 2 of (3, 4)`.
  [[nodiscard]] std::int64_t size(int dim) const;
  /// Returns numel() * size_of(dtype()). Throws ShapeError `[nbytes] too many elements: (4611686018427387904)` if the
  /// product overflows: a view may repeat an element that often.
  [[nodiscard]] std::size_t nbytes() const {
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(static_cast<std::size_t>(numel_), size_of(dtype_), &bytes)) fail_too_many_elements();
    return bytes;
  }
  [[nodiscard]] const Storage& storage() const noexcept { return storage_; }
  /// Returns the version counter of the memory. A write through any view of it increments the counter.
  [[nodiscard]] std::uint64_t version() const noexcept { return storage_.version(); }
  [[nodiscard]] bool is_contiguous() const noexcept;

  /// Returns the elements for reading, in row-major order. Valid as long as Storage::data().
  /// Throws DTypeError `[data] dtype is f32, not f64`, ShapeError `[data] not contiguous: (2, 3) strides (1, 2)`,
  /// DeviceError as `bytes`. Exposes the storage: arithmetic on these elements is no longer deferred (ops/rvalue.h).
  template <Element T>
  [[nodiscard]] std::span<const T> data() const {
    require_readable_as("data", dtype_of<T>);
    const std::byte* const first = bytes();
    storage_.expose();
    return {reinterpret_cast<const T*>(first), static_cast<std::size_t>(numel_)};
  }

  /// As `data`, for writing. Every call increments the version. The span is valid until the elements are next shared:
  /// sent, copied into a message, frozen. After that take a new one; a write through the old one changes what others
  /// were given, or is lost.
  template <Element T>
  [[nodiscard]] std::span<T> mutable_data() {
    require_readable_as("mutable_data", dtype_of<T>);
    std::byte* const first = mutable_bytes();
    storage_.expose();
    return {reinterpret_cast<T*>(first), static_cast<std::size_t>(numel_)};
  }

  /// Returns the address of the first element, for any layout; see Storage::data() and Storage::mutable_data().
  /// Unlike `data`, it does not expose the storage, so the caller must not use the address after the next operation.
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

  /// Defers work on the elements, as Storage::defer().
  void defer(std::unique_ptr<PendingWork> work);

  /// Returns the bytes from the first element to the last, frozen (Storage::freeze). A contiguous tensor gives exactly
  /// `nbytes()` bytes; another layout includes the gaps between its elements.
  [[nodiscard]] FrozenBytes freeze() const;

  /// Returns a contiguous copy in fresh memory.
  [[nodiscard]] Tensor clone() const;
  /// Returns this tensor if it is contiguous, else a contiguous copy.
  [[nodiscard]] Tensor contiguous() const;
  /// Returns this tensor if it has `dtype`, else a converted copy. Floating to integer truncates toward zero, saturates
  /// beyond the range and turns NaN into 0. Integer to integer keeps the low bits. To boolean is `!= 0`. To floating
  /// rounds to nearest, ties to even.
  [[nodiscard]] Tensor to(DType dtype) const;
  /// Returns this tensor if it is on `device`, else a copy on `device` with the same strides.
  /// Throws DeviceError `[to] cuda:0 is not available: ...`.
  [[nodiscard]] Tensor to(Device device) const;

  /// Overwrites every element. `source` is broadcast to this shape and converted to this dtype. Throws ShapeError
  /// `[copy_from] (3) does not broadcast to (2, 4)`.
  void copy_from(const Tensor& source);
  /// Throws ShapeError `[fill] one element is written more than once: (2, 3) strides (0, 1)`, as copy_from does;
  /// DTypeError `[fill] not a value of u8: 300`.
  void fill(double value);

  // Views. They copy no elements unless the comment says so. Negative dimensions count from the end: -1 is the last.
  // Those with a dimension throw ShapeError `[transpose] dimension out of range: 2 of (3, 4)`.

  /// Returns a view of another shape. One size may be -1 and is computed. Throws ShapeError if the element counts
  /// differ or the layout needs a copy.
  [[nodiscard]] Tensor view(const Shape& shape) const;
  /// As `view`, but returns a copy if the layout needs one.
  [[nodiscard]] Tensor reshape(const Shape& shape) const;
  /// Swaps two dimensions.
  [[nodiscard]] Tensor transpose(int dim0 = -2, int dim1 = -1) const;
  /// Dimension i of the view is dimension `dims[i]` of this tensor. Throws ShapeError unless `dims` names each
  /// dimension once.
  [[nodiscard]] Tensor permute(std::span<const int> dims) const;
  [[nodiscard]] Tensor permute(std::initializer_list<int> dims) const;
  /// Drops dimension `dim`. Throws ShapeError `[squeeze] size of dimension 0 is not 1: (2, 3)`.
  [[nodiscard]] Tensor squeeze(int dim) const;
  /// Drops every dimension of size 1.
  [[nodiscard]] Tensor squeeze() const;
  /// Adds a dimension of size 1 before dimension `dim`; dim() or -1 adds it at the end.
  [[nodiscard]] Tensor unsqueeze(int dim) const;
  /// Broadcasts to `shape`: repeats dimensions of size 1 and adds leading ones. A size of -1 keeps the present size.
  /// Throws ShapeError `[expand] (2, 3) does not broadcast to (2, 4)`, `[expand] no size to keep: (3) to (-1, 3)`.
  [[nodiscard]] Tensor expand(const Shape& shape) const;
  /// Keeps elements begin, begin + step, ... below `end` along `dim`. Negative bounds count from the end; both are
  /// clamped to the size. Throws ValueError `[slice] step below 1: 0`.
  [[nodiscard]] Tensor slice(int dim, std::int64_t begin, std::int64_t end = std::numeric_limits<std::int64_t>::max(),
                             std::int64_t step = 1) const;
  /// Returns the part at `index` along `dim`, without that dimension. A negative index counts from the end. Throws
  /// IndexError `[select] index out of range: 5 of 3`.
  [[nodiscard]] Tensor select(int dim, std::int64_t index) const;
  /// Returns select(0, index): a row of a matrix.
  [[nodiscard]] Tensor operator[](std::int64_t index) const { return select(0, index); }

  /// Throws TensorError `[op] tensor is undefined` unless defined().
  void require_defined(std::string_view op) const;

 private:
  Tensor(Storage storage, const Shape& shape, const Strides& strides, std::int64_t offset, DType dtype);

  void require_readable_as(std::string_view op, DType dtype) const;
  [[nodiscard]] Tensor alias(const Shape& shape, const Strides& strides, std::int64_t offset) const;
  void require_one_element() const;
  /// An address on any device.
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

/// Returns whether shapes, dtypes and the bits of all elements are equal. Two undefined tensors are equal.
[[nodiscard]] bool same_bytes(const Tensor& a, const Tensor& b);

/// Returns whether shapes are equal and every |a - b| <= atol + rtol * |b|, computed in f64. NaN is not close to any
/// value; an infinity is close to itself only.
[[nodiscard]] bool allclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8);

}  // namespace troupe

// Deferred arithmetic on a large tensor: it runs at the next access to the result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tensor/kernels/elementwise.h"
#include "tensor/storage.h"
#include "tensor/tensor.h"

namespace troupe::detail {

/// The least size of a tensor whose arithmetic is deferred. Smaller tensors stay in the cache anyway.
inline constexpr std::size_t kDeferBytes = std::size_t{1} << 20;

/// Steps x = op(x, operand) or x = op(operand, x) on all elements of one contiguous tensor. The operands are frozen: a
/// later write to one moves its storage and does not change the result. At most kOperandsMax different operands with
/// more than one element wait, so that a chain does not keep the memory of all its operands.
class DeferredOps final : public PendingWork {
 public:
  static constexpr std::size_t kStepsMax = 256;
  static constexpr std::size_t kOperandsMax = 2;

  /// Creates an empty list of steps on the elements of `x`. REQUIRES: x.dtype() == compute_dtype(x.dtype()).
  explicit DeferredOps(const Tensor& x);

  /// Returns whether the steps apply to exactly the elements of `x`, a view of the same storage.
  [[nodiscard]] bool covers(const Tensor& x) const;

  /// The left operand of the operator.
  enum class Left : std::uint8_t { result, operand };

  /// Adds a step. Returns false, and adds nothing, if there are too many steps or operands already.
  /// REQUIRES: `operand` has the dtype of x and either one element or, contiguous, the shape of x.
  [[nodiscard]] bool add(kernels::BinaryOp op, Left left, const Tensor& operand);

  void run(std::byte* bytes) const noexcept override;

 private:
  struct Step {
    kernels::BinaryOp op;
    Left left;
    std::size_t operand;
  };
  struct Operand {
    FrozenBytes bytes;
    std::int64_t stride = 1;  ///< 0: one element, repeated
  };

  std::size_t offset_bytes_;
  std::int64_t numel_;
  DType dtype_;
  std::vector<Operand> operands_;
  std::vector<Step> steps_;
};

/// Returns whether a result of `shape` and `dtype` may be written into the memory of `x`, which the caller gives up:
/// `x` is contiguous, not frozen and the only handle of its storage.
[[nodiscard]] bool is_reusable(const Tensor& x, const Shape& shape, DType dtype);

/// Computes op(dead, operand) or op(operand, dead) in the memory of `dead`; deferred if operands and sizes permit it,
/// else at once. REQUIRES: `dead` is reusable for its own shape and dtype; `operand` broadcasts to the shape of `dead`
/// and has its dtype or compute_dtype of it.
void compute_in(Tensor& dead, kernels::BinaryOp op, DeferredOps::Left left, const Tensor& operand);
/// As above with a number as the operand. REQUIRES: `dead` has a floating dtype.
void compute_in(Tensor& dead, kernels::BinaryOp op, DeferredOps::Left left, double operand);

}  // namespace troupe::detail

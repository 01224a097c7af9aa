// Arithmetic on a large tensor that waits until somebody looks at the result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tensor/kernels/elementwise.h"
#include "tensor/storage.h"
#include "tensor/tensor.h"

namespace troupe::detail {

/// Below, a chain stays in the cache by itself.
inline constexpr std::size_t kPutOffBytes = std::size_t{1} << 20;

/// Steps x = op(x, operand) or x = op(operand, x) on all elements of one contiguous tensor. Operands are frozen: a write
/// to one of them in the meantime moves its tensor and does not change the result. So that a chain does not keep the
/// memory of all its operands, at most kOperandsMax different ones wait.
class PutOffSteps final : public PendingWork {
 public:
  static constexpr std::size_t kStepsMax = 256;
  static constexpr std::size_t kOperandsMax = 2;

  /// On the elements of `x`, which starts `x.offset()` elements into its storage. The dtype is its own compute_dtype.
  explicit PutOffSteps(const Tensor& x);

  /// Whether they are on the elements of `x`, all of them and no others.
  [[nodiscard]] bool covers(const Tensor& x) const;

  /// What is on the left of the operator.
  enum class Left : std::uint8_t { result, operand };

  /// `operand` is contiguous, of the shape and dtype of x, or one element of that dtype. Returns false, and adds nothing, if
  /// there are too many steps or operands already.
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
    std::int64_t stride = 1;  ///< 0: one element for all
  };

  std::size_t offset_bytes_;
  std::int64_t numel_;
  DType dtype_;
  std::vector<Operand> operands_;
  std::vector<Step> steps_;
};

/// Whether a result of `shape` and `dtype` may be written into the memory of `x`, which its only holder gives up.
[[nodiscard]] bool is_reusable(const Tensor& x, const Shape& shape, DType dtype);

/// Computes op(dead, operand), or op(operand, dead), at once or later, in the memory of `dead`, which is_reusable():
/// in place where operands and sizes do not allow to put it off. `operand` broadcasts to the shape of `dead`, and has its dtype
/// or compute_dtype of it.
void compute_in(Tensor& dead, kernels::BinaryOp op, PutOffSteps::Left left, const Tensor& operand);
/// The same with a number as the operand, of a floating dtype.
void compute_in(Tensor& dead, kernels::BinaryOp op, PutOffSteps::Left left, double operand);

}  // namespace troupe::detail

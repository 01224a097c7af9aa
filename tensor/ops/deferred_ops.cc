#include "tensor/ops/deferred_ops.h"

#include <algorithm>
#include <utility>

#include "tensor/compute_watcher.h"
#include "tensor/cpu/parallel.h"
#include "tensor/create.h"
#include "tensor/kernels/table.h"

namespace troupe::detail {
namespace {

// A stretch of the result and a stretch of an operand fit into the L1 cache together.
constexpr std::int64_t kStretchBytes = 16 << 10;

bool is_long_on_cpu(const Tensor& x) { return x.nbytes() >= kDeferBytes && !kernels::on_gpu(x); }
bool is_one(const Tensor& x) { return x.numel() == 1; }

// `operand` may be `dead` itself, in `std::move(x) * x`: memory that is frozen cannot also take the result. A watcher
// would miss what waits, and see its time as that of the access to the result.
bool may_wait(const Tensor& dead, kernels::BinaryOp op, const Tensor& operand) {
  return is_long_on_cpu(dead) && ComputeWatcher::here() == nullptr && op <= kernels::BinaryOp::div &&
         dead.dtype() == compute_dtype(dead.dtype()) && operand.dtype() == dead.dtype() && !dead.storage().exposed() &&
         !operand.storage().exposed() && !operand.storage().same_as(dead.storage()) &&
         (is_one(operand) || (operand.is_contiguous() && operand.shape() == dead.shape()));
}

}  // namespace

DeferredOps::DeferredOps(const Tensor& x)
    : offset_bytes_(static_cast<std::size_t>(x.offset()) * size_of(x.dtype())), numel_(x.numel()), dtype_(x.dtype()) {}

bool DeferredOps::covers(const Tensor& x) const {
  return static_cast<std::size_t>(x.offset()) * size_of(x.dtype()) == offset_bytes_ && x.numel() == numel_ &&
         x.dtype() == dtype_;
}

bool DeferredOps::add(kernels::BinaryOp op, Left left, const Tensor& operand) {
  if (steps_.size() == kStepsMax) return false;
  const FrozenBytes bytes = operand.freeze();
  const std::int64_t stride = is_one(operand) ? 0 : 1;
  const auto known = std::find_if(operands_.begin(), operands_.end(), [&](const Operand& other) {
    return other.bytes.bytes().data() == bytes.bytes().data() && other.stride == stride;
  });
  const auto index = static_cast<std::size_t>(known - operands_.begin());
  if (known == operands_.end()) {
    const auto large =
        std::count_if(operands_.begin(), operands_.end(), [](const Operand& other) { return other.stride != 0; });
    if (stride != 0 && static_cast<std::size_t>(large) == kOperandsMax) return false;
    operands_.push_back({bytes, stride});
  }
  steps_.push_back({op, left, index});
  return true;
}

void DeferredOps::run(std::byte* bytes) const noexcept {
  const auto size = static_cast<std::int64_t>(size_of(dtype_));
  const std::int64_t stretch = kStretchBytes / size;
  std::byte* const x = bytes + offset_bytes_;
  cpu::parallel_for(numel_, static_cast<std::int64_t>(steps_.size()), [&](std::int64_t begin, std::int64_t end) {
    for (; begin < end; begin += stretch) {
      const std::int64_t count = std::min(stretch, end - begin);
      const kernels::Stretch result{x + begin * size, 1};
      for (const Step& step : steps_) {
        const Operand& operand = operands_[step.operand];
        const kernels::Stretch other{operand.bytes.bytes().data() + begin * operand.stride * size, operand.stride};
        const bool first = step.left == Left::result;
        cpu::stretch_kernels.binary(step.op, dtype_, x + begin * size, first ? result : other, first ? other : result,
                                    count);
      }
    }
  });
}

bool is_reusable(const Tensor& x, const Shape& shape, DType dtype) {
  return x.defined() && x.storage().handle_count() == 1 && x.dtype() == dtype && x.shape() == shape &&
         x.is_contiguous() && !x.storage().frozen();
}

void compute_in(Tensor& dead, kernels::BinaryOp op, DeferredOps::Left left, const Tensor& operand) {
  if (may_wait(dead, op, operand)) {
    // The cast is safe: DeferredOps is the only kind of deferred work.
    auto* const pending = static_cast<DeferredOps*>(dead.storage().pending());
    if (pending != nullptr && pending->covers(dead) && pending->add(op, left, operand)) return;
    auto steps = std::make_unique<DeferredOps>(dead);
    if (steps->add(op, left, operand)) return dead.defer(std::move(steps));
  }
  const Tensor other = operand.expand(dead.shape());
  const Tensor& self = dead;
  if (left == DeferredOps::Left::result) kernels_of(dead).binary(op, dead, self, other);
  else kernels_of(dead).binary(op, dead, other, self);
}

void compute_in(Tensor& dead, kernels::BinaryOp op, DeferredOps::Left left, double operand) {
  if (is_long_on_cpu(dead)) return compute_in(dead, op, left, full({}, operand, compute_dtype(dead.dtype())));
  const Tensor& self = dead;
  if (left == DeferredOps::Left::result) kernels_of(dead).binary(op, dead, self, operand);
  else kernels_of(dead).binary(op, dead, operand, self);
}

}  // namespace troupe::detail

#include "tensor/ops/ctc_loss.h"

#include <fmt/format.h>
#include <array>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/compute_watcher.h"
#include "tensor/create.h"
#include "tensor/kernels/ctc.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/checks.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/rvalue.h"

namespace troupe {
namespace {

constexpr std::string_view kOp = "ctc_loss";

std::vector<std::int64_t> numbers_of(const Tensor& x) {
  const auto span = x.data<std::int64_t>();
  return {span.begin(), span.end()};
}

/// The checked arguments, copied to the CPU.
class CtcLoss {
 public:
  CtcLoss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths, const Tensor& target_lengths,
          const CtcLossOptions& options)
      : given_(log_probs), options_(options) {
    log_probs.require_defined(kOp);
    if (log_probs.dim() != 2 && log_probs.dim() != 3) {
      throw ShapeError(fmt::format("[{}] log_probs is not (t, n, classes): {}", kOp, to_string(log_probs.shape())));
    }
    if (!is_floating(log_probs.dtype())) detail::throw_not_floating(kOp, log_probs.dtype());
    const Tensor batched = log_probs.dim() == 2 ? log_probs.unsqueeze(1) : log_probs;
    examples_.log_probs = batched.to(Device::cpu()).to(compute_dtype(batched.dtype())).contiguous();
    examples_.blank = options.blank;
    const std::int64_t classes = batched.size(2);
    if (options.blank < 0 || options.blank >= classes) {
      throw ValueError(fmt::format("[{}] blank {} of {} classes", kOp, options.blank, classes));
    }
    const Shape lengths = log_probs.dim() == 2 ? Shape{} : Shape{batched.size(1)};
    if (input_lengths.shape() != lengths || target_lengths.shape() != lengths) {
      throw ShapeError(fmt::format("[{}] lengths do not fit: {} and {} for {} examples", kOp,
                                   to_string(input_lengths.shape()), to_string(target_lengths.shape()),
                                   batched.size(1)));
    }
    examples_.steps = checked_lengths(input_lengths, batched.size(0));
    cut(targets, classes, checked_lengths(target_lengths, targets.numel()));
  }

  [[nodiscard]] Tensor losses() const {
    Tensor losses = Tensor::empty({count()}, DType::f64);
    const std::array<const Tensor*, 1> inputs{&examples_.log_probs};
    const WatchedKernel watched("ctc", inputs);
    cpu::ctc_kernels.ctc(losses, examples_);
    return losses;
  }

  [[nodiscard]] Tensor result(const Tensor& losses) const {
    const Tensor counted = options_.zero_infinity ? where(isfinite(losses), losses, zeros({}, DType::f64)) : losses;
    const DType dtype = given_.dtype();
    if (options_.reduction == Reduction::none) {
      return counted.reshape(given_.dim() == 2 ? Shape{} : Shape{count()}).to(dtype).to(given_.device());
    }
    const Tensor total = options_.reduction == Reduction::sum ? sum(counted) : mean(div(counted, lengths()));
    return total.to(dtype).to(given_.device());
  }

  [[nodiscard]] Tensor backward(const Tensor& grad) const {
    const Shape expected = options_.reduction != Reduction::none || given_.dim() == 2 ? Shape{} : Shape{count()};
    if (grad.shape() != expected) {
      throw ShapeError(fmt::format("[ctc_loss_backward] gradient does not fit: {} for {}", to_string(grad.shape()),
                                   to_string(expected)));
    }
    const Tensor losses = this->losses();
    Tensor by_loss = grad.to(Device::cpu()).to(DType::f64).expand({count()});
    if (options_.reduction == Reduction::mean) by_loss = div(by_loss, mul(lengths(), static_cast<double>(count())));
    if (options_.zero_infinity) by_loss = where(isfinite(losses), by_loss, zeros({}, DType::f64));
    Tensor out = zeros(examples_.log_probs.shape(), examples_.log_probs.dtype());
    by_loss = by_loss.contiguous();
    {
      const std::array<const Tensor*, 2> inputs{&by_loss, &examples_.log_probs};
      const WatchedKernel watched("ctc_backward", inputs);
      cpu::ctc_kernels.ctc_backward(out, by_loss, examples_, losses);
    }
    return out.reshape(given_.shape()).to(given_.dtype()).to(given_.device());
  }

 private:
  [[nodiscard]] std::int64_t count() const { return std::ssize(examples_.steps); }

  /// Returns the target lengths, at least 1, by which the mean divides each loss.
  [[nodiscard]] Tensor lengths() const {
    std::vector<double> sizes;
    for (const auto& target : examples_.targets) sizes.push_back(std::max(1.0, static_cast<double>(target.size())));
    return from_values<double>(sizes, {count()});
  }

  [[nodiscard]] static std::vector<std::int64_t> checked_lengths(const Tensor& lengths, std::int64_t most) {
    const Tensor here = lengths.to(Device::cpu());
    const Tensor checked = detail::checked_index(kOp, here, std::numeric_limits<std::int64_t>::max());
    std::vector<std::int64_t> numbers = numbers_of(checked);
    for (const std::int64_t number : numbers) {
      if (number > most) throw ValueError(fmt::format("[{}] {} steps of {}", kOp, number, most));
    }
    return numbers;
  }

  void cut(const Tensor& targets, std::int64_t classes, const std::vector<std::int64_t>& lengths) {
    const bool rows = targets.dim() == 2 && given_.dim() == 3;
    const std::int64_t total = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
    const bool fits =
        rows ? targets.size(0) == count() &&
                   std::ranges::all_of(lengths, [&](std::int64_t n) { return n <= targets.size(1); })
             : targets.dim() == 1 && (given_.dim() == 2 ? total <= targets.size(0) : total == targets.size(0));
    if (!fits) {
      throw ShapeError(fmt::format("[{}] targets {} do not have the lengths ({})", kOp, to_string(targets.shape()),
                                   fmt::join(lengths, ", ")));
    }
    const Tensor flat = detail::checked_index(kOp, targets.to(Device::cpu()), classes);
    const auto all = flat.data<std::int64_t>();
    std::size_t first = 0;
    for (const std::int64_t length : lengths) {
      const auto size = static_cast<std::size_t>(length);
      const auto part = all.subspan(first, size);
      examples_.targets.emplace_back(part.begin(), part.end());
      first += rows ? static_cast<std::size_t>(targets.size(1)) : size;
    }
  }

  const Tensor& given_;
  const CtcLossOptions& options_;
  kernels::CtcExamples examples_;
};

}  // namespace

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, const CtcLossOptions& options) {
  const CtcLoss loss(log_probs, targets, input_lengths, target_lengths, options);
  return loss.result(loss.losses());
}

Tensor ctc_loss_backward(const Tensor& grad, const Tensor& log_probs, const Tensor& targets,
                         const Tensor& input_lengths, const Tensor& target_lengths, const CtcLossOptions& options) {
  return CtcLoss(log_probs, targets, input_lengths, target_lengths, options).backward(grad);
}

}  // namespace troupe

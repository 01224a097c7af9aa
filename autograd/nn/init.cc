#include "autograd/nn/init.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tensor/create.h"
#include "tensor/ops.h"

namespace troupe::nn {
namespace {

void require_weight(const char* operation, const Shape& weight) {
  if (weight.size() >= 2) return;
  throw ShapeError(fmt::format("[{}] a weight has at least 2 dimensions: {}", operation, to_string(weight)));
}

std::int64_t receptive_field(const Shape& weight) {
  std::int64_t count = 1;
  for (int i = 2; i < weight.size(); ++i) count *= weight[i];
  return count;
}

/// Returns normal values, computed in f32 or wider and rounded once.
Tensor normal(const Shape& shape, double mean, double std, Generator& generator, DType dtype) {
  return (randn(shape, generator, compute_dtype(dtype)) * std + mean).to(dtype);
}

double xavier_std(const Shape& weight, double gain) {
  return gain * std::sqrt(2.0 / static_cast<double>(fan_in(weight) + fan_out(weight)));
}

double kaiming_std(const Shape& weight, const KaimingOptions& options) {
  const std::int64_t fan = options.fan == Fan::in ? fan_in(weight) : fan_out(weight);
  return gain_of(options.nonlinearity, options.slope) / std::sqrt(static_cast<double>(fan));
}

/// Subtracts from `x` its projection on `direction`, a vector of length 1.
void remove_direction(std::span<double> x, std::span<const double> direction) {
  double along = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) along += x[i] * direction[i];
  for (std::size_t i = 0; i < x.size(); ++i) x[i] -= along * direction[i];
}

/// Makes rows begin ... end of `rows` orthogonal to each other and of length 1.
void orthonormalize(Tensor& rows, std::int64_t begin, std::int64_t end) {
  const auto width = static_cast<std::size_t>(rows.size(1));
  const auto all = rows.mutable_data<double>();
  const auto row = [&](std::int64_t i) { return all.subspan(static_cast<std::size_t>(i) * width, width); };
  for (std::int64_t i = begin; i < end; ++i) {
    // The second pass removes what rounding left in the first.
    for (int pass = 0; pass < 2; ++pass) {
      for (std::int64_t j = begin; j < i; ++j) remove_direction(row(i), row(j));
    }
    double squares = 0.0;
    for (const double x : row(i)) squares += x * x;
    const double scale = 1.0 / std::sqrt(squares);
    for (double& x : row(i)) x *= scale;
  }
}

/// Returns random orthogonal rows of length 1. REQUIRES: count <= width. Gram-Schmidt in blocks, so that most of the
/// work is matrix products.
Tensor orthogonal_rows(std::int64_t count, std::int64_t width, Generator& generator) {
  constexpr std::int64_t kBlock = 32;
  Tensor rows = randn({count, width}, generator, DType::f64);
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const std::int64_t end = std::min(begin + kBlock, count);
    const Tensor done = rows.slice(0, 0, begin);
    Tensor block = rows.slice(0, begin, end);
    for (int pass = 0; pass < 2 && begin > 0; ++pass) {
      block.copy_from(block - matmul(matmul(block, done.transpose()), done));
    }
    orthonormalize(rows, begin, end);
  }
  return rows;
}

/// Standard deviations; the square of more is out of range.
constexpr double kFarthest = 1e150;

/// Draws standard normal numbers (mean 0, standard deviation 1) truncated to [low, high].
class Truncated {
 public:
  Truncated(double low, double high) : low_(low), high_(high) {
    const auto below = [](double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); };
    if (below(high) - below(low) > 0.1) return;
    often_inside_ = false;
    // The density peaks here. Beyond `reach` from the peak it is below the resolution of a draw.
    peak_ = std::clamp(0.0, low, high);
    const double reach = 40.0 / std::max(std::abs(peak_), 4.0);
    low_ = std::max(low, peak_ - reach);
    high_ = std::min(high, peak_ + reach);
  }

  double draw(Generator& generator) const {
    for (;;) {
      if (often_inside_) {
        const double x = generator.normal();
        if (x >= low_ && x <= high_) return x;
      } else {
        const double x = low_ + (high_ - low_) * generator.uniform();
        if (generator.uniform() < std::exp(0.5 * (peak_ * peak_ - x * x))) return x;
      }
    }
  }

 private:
  bool often_inside_ = true;
  double low_;
  double high_;
  double peak_ = 0.0;
};

template <class Make>
void give(const Variable& parameter, const Make& make) {
  const Tensor old = parameter.value();
  parameter.set_value(make(old.shape(), old.dtype()).to(old.device()));
}

}  // namespace

std::int64_t fan_in(const Shape& weight) {
  require_weight("fan_in", weight);
  return weight[1] * receptive_field(weight);
}

std::int64_t fan_out(const Shape& weight) {
  require_weight("fan_out", weight);
  return weight[0] * receptive_field(weight);
}

double gain_of(Nonlinearity nonlinearity, double slope) {
  switch (nonlinearity) {
    case Nonlinearity::linear:
    case Nonlinearity::sigmoid: return 1.0;
    case Nonlinearity::tanh: return 5.0 / 3.0;
    case Nonlinearity::relu: return std::numbers::sqrt2;
    case Nonlinearity::leaky_relu: return std::sqrt(2.0 / (1.0 + slope * slope));
    case Nonlinearity::selu: return 0.75;
  }
  throw ValueError(fmt::format("[gain_of] no nonlinearity has the number {}", static_cast<int>(nonlinearity)));
}

Tensor xavier_uniform(const Shape& weight, Generator& generator, double gain, DType dtype) {
  const double bound = std::sqrt(3.0) * xavier_std(weight, gain);
  return uniform(weight, -bound, bound, generator, dtype);
}

Tensor xavier_normal(const Shape& weight, Generator& generator, double gain, DType dtype) {
  return normal(weight, 0.0, xavier_std(weight, gain), generator, dtype);
}

Tensor kaiming_uniform(const Shape& weight, Generator& generator, const KaimingOptions& options, DType dtype) {
  const double bound = std::sqrt(3.0) * kaiming_std(weight, options);
  return uniform(weight, -bound, bound, generator, dtype);
}

Tensor kaiming_normal(const Shape& weight, Generator& generator, const KaimingOptions& options, DType dtype) {
  return normal(weight, 0.0, kaiming_std(weight, options), generator, dtype);
}

Tensor orthogonal(const Shape& weight, Generator& generator, double gain, DType dtype) {
  require_weight("orthogonal", weight);
  const std::int64_t rows = weight[0];
  const std::int64_t columns = weight[1] * receptive_field(weight);
  if (rows == 0 || columns == 0) return empty(weight, dtype);
  const Tensor q = orthogonal_rows(std::min(rows, columns), std::max(rows, columns), generator);
  return ((rows > columns ? q.transpose() : q) * gain).to(dtype).reshape(weight);
}

Tensor trunc_normal(const Shape& shape, Generator& generator, const TruncNormalOptions& options, DType dtype) {
  const double mean = options.mean;
  const double std = options.std;
  const double low = options.low;
  const double high = options.high;
  if (!(std > 0.0)) throw ValueError(fmt::format("[trunc_normal] std is not above 0: {}", std));
  if (!(low < high)) throw ValueError(fmt::format("[trunc_normal] low is not below high: {}, {}", low, high));
  if (!std::isfinite(mean) || !std::isfinite(std))
    throw ValueError(fmt::format("[trunc_normal] mean or std is not finite: {}, {}", mean, std));
  const double nearest = (std::clamp(mean, low, high) - mean) / std;
  if (!(std::abs(nearest) < kFarthest)) {
    throw ValueError(
        fmt::format("[trunc_normal] low ... high is too far from the mean: {} ... {}, {}", low, high, mean));
  }
  const Truncated truncated((low - mean) / std, (high - mean) / std);
  Tensor result = empty(shape, compute_dtype(dtype));
  dispatch_floating("trunc_normal", result.dtype(), [&]<class T>(std::type_identity<T>) {
    for (T& x : result.mutable_data<T>()) {
      x = static_cast<T>(std::clamp(mean + std * truncated.draw(generator), low, high));
    }
  });
  return result.to(dtype);
}

Tensor uniform_by_fan_in(const Shape& shape, std::int64_t inputs, Generator& generator, DType dtype) {
  const double bound = inputs > 0 ? 1.0 / std::sqrt(static_cast<double>(inputs)) : 0.0;  // as torch
  return uniform(shape, -bound, bound, generator, dtype);
}

void uniform_(const Variable& parameter, double low, double high, Generator& generator) {
  give(parameter, [&](const Shape& shape, DType dtype) { return uniform(shape, low, high, generator, dtype); });
}

void normal_(const Variable& parameter, double mean, double std, Generator& generator) {
  give(parameter, [&](const Shape& shape, DType dtype) { return normal(shape, mean, std, generator, dtype); });
}

void constant_(const Variable& parameter, double value) {
  give(parameter, [&](const Shape& shape, DType dtype) { return full(shape, value, dtype); });
}

void zeros_(const Variable& parameter) { constant_(parameter, 0.0); }
void ones_(const Variable& parameter) { constant_(parameter, 1.0); }

void xavier_uniform_(const Variable& parameter, Generator& generator, double gain) {
  give(parameter, [&](const Shape& shape, DType dtype) { return xavier_uniform(shape, generator, gain, dtype); });
}

void xavier_normal_(const Variable& parameter, Generator& generator, double gain) {
  give(parameter, [&](const Shape& shape, DType dtype) { return xavier_normal(shape, generator, gain, dtype); });
}

void kaiming_uniform_(const Variable& parameter, Generator& generator, const KaimingOptions& options) {
  give(parameter, [&](const Shape& shape, DType dtype) { return kaiming_uniform(shape, generator, options, dtype); });
}

void kaiming_normal_(const Variable& parameter, Generator& generator, const KaimingOptions& options) {
  give(parameter, [&](const Shape& shape, DType dtype) { return kaiming_normal(shape, generator, options, dtype); });
}

void orthogonal_(const Variable& parameter, Generator& generator, double gain) {
  give(parameter, [&](const Shape& shape, DType dtype) { return orthogonal(shape, generator, gain, dtype); });
}

void trunc_normal_(const Variable& parameter, Generator& generator, const TruncNormalOptions& options) {
  give(parameter, [&](const Shape& shape, DType dtype) { return trunc_normal(shape, generator, options, dtype); });
}

}  // namespace troupe::nn

#include "tensor/sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "tensor/create.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/exponential.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/rvalue.h"

namespace troupe {
namespace {

using Line = std::span<const double>;

/// Returns the lines along the last dimension. REQUIRES: `x` is contiguous f64.
std::vector<Line> lines_of(const Tensor& x) {
  const std::span<const double> all = x.data<double>();
  const auto size = static_cast<std::size_t>(x.size(-1));
  std::vector<Line> lines;
  for (std::size_t at = 0; at < all.size(); at += size) lines.push_back(all.subspan(at, size));
  return lines;
}

void check_probability(double probability) {
  if (probability >= 0.0 && probability <= 1.0) return;
  throw ValueError(fmt::format("[bernoulli] probability outside [0, 1]: {}", probability));
}

void check_weights(Line weights, std::size_t row, std::int64_t count, Replacement replacement) {
  std::int64_t positive = 0;
  for (const double weight : weights) {
    if (!(weight >= 0.0 && weight < std::numeric_limits<double>::infinity())) {
      throw ValueError(fmt::format("[multinomial] weight is not a number from 0 on: {}", weight));
    }
    positive += weight > 0.0 ? 1 : 0;
  }
  if (positive == 0) throw ValueError(fmt::format("[multinomial] all weights are 0: row {}", row));
  if (replacement == Replacement::no && count > positive) {
    throw ValueError(fmt::format("[multinomial] {} draws from {} weights above 0: row {}", count, positive, row));
  }
}

/// Returns the running sums of the weights, times a power of two that prevents overflow and denormals.
std::vector<double> running_sums_of(Line weights) {
  const int exponent = std::ilogb(*std::ranges::max_element(weights));
  std::vector<double> sums;
  for (double sum = 0.0; const double weight : weights) sums.push_back(sum += std::scalbn(weight, -exponent));
  return sums;
}

void draw_with_replacement(Line weights, std::span<std::int64_t> out, Generator& generator) {
  const std::vector<double> sums = running_sums_of(weights);
  // The draw is below 1, so its product is below the last sum. upper_bound never finds an index with weight 0.
  for (std::int64_t& index : out)
    index = std::ranges::upper_bound(sums, generator.uniform() * sums.back()) - sums.begin();
}

void draw_without_replacement(Line weights, std::span<std::int64_t> out, Generator& generator) {
  struct Arrival {
    double log_time;
    std::size_t index;
    auto operator<=>(const Arrival&) const = default;
  };
  std::vector<Arrival> arrivals;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double time = -std::log1p(-generator.uniform());
    // Logarithms, because time / weight can overflow.
    if (weights[i] > 0.0) arrivals.push_back({std::log(time) - std::log(weights[i]), i});
  }
  const auto end = arrivals.begin() + std::ssize(out);
  std::partial_sort(arrivals.begin(), end, arrivals.end(), [](const Arrival& a, const Arrival& b) { return a < b; });
  std::transform(arrivals.begin(), end, out.begin(),
                 [](const Arrival& a) { return static_cast<std::int64_t>(a.index); });
}

}  // namespace

Tensor bernoulli(const Shape& shape, double probability, Generator& generator, DType dtype, Device device) {
  check_probability(probability);
  require_available("bernoulli", device);
  if (device.kind == DeviceKind::cuda) return lt(rand(shape, generator, DType::f64, device), probability).to(dtype);
  Tensor result = Tensor::empty(shape, DType::boolean);
  for (bool& out : result.mutable_data<bool>()) out = generator.uniform() < probability;
  return result.to(dtype);
}

Tensor bernoulli(const Tensor& probabilities, Generator& generator) {
  probabilities.require_defined("bernoulli");
  if (!is_floating(probabilities.dtype())) detail::throw_not_floating("bernoulli", probabilities.dtype());
  const Tensor wide = probabilities.to(Device::cpu()).to(DType::f64).contiguous();
  const std::span<const double> p = wide.data<double>();
  std::ranges::for_each(p, check_probability);
  Tensor result = Tensor::empty(probabilities.shape(), DType::boolean);
  std::ranges::transform(p, result.mutable_data<bool>().begin(), [&](double at) { return generator.uniform() < at; });
  return result.to(probabilities.dtype()).to(probabilities.device());
}

Tensor multinomial(const Tensor& weights, std::int64_t count, Generator& generator, Replacement replacement) {
  weights.require_defined("multinomial");
  Shape shape = weights.shape();
  if (shape.size() < 1 || shape.size() > 2) {
    throw ShapeError(fmt::format("[multinomial] weights are not (c) or (rows, c): {}", to_string(shape)));
  }
  if (count < 0) throw ValueError(fmt::format("[multinomial] negative count: {}", count));
  if (shape[shape.size() - 1] == 0 && (shape.size() == 1 || shape[0] > 0)) {
    throw ValueError("[multinomial] all weights are 0: row 0");
  }
  const Tensor wide = weights.to(Device::cpu()).to(DType::f64).contiguous();
  const std::vector<Line> rows = lines_of(wide);
  for (std::size_t row = 0; row < rows.size(); ++row) check_weights(rows[row], row, count, replacement);
  shape[shape.size() - 1] = count;
  Tensor result = Tensor::empty(shape, DType::i64);
  std::span<std::int64_t> rest = result.mutable_data<std::int64_t>();
  for (const Line& row : rows) {
    const auto out = rest.first(static_cast<std::size_t>(count));
    replacement == Replacement::yes ? draw_with_replacement(row, out, generator)
                                    : draw_without_replacement(row, out, generator);
    rest = rest.subspan(out.size());
  }
  return result.to(weights.device());
}

Tensor categorical(const Tensor& logits, Generator& generator) {
  logits.require_defined("categorical");
  if (logits.dim() == 0 || logits.size(-1) == 0) {
    throw ShapeError(fmt::format("[categorical] no classes: {}", to_string(logits.shape())));
  }
  const Tensor wide = logits.to(Device::cpu()).to(DType::f64);
  const Tensor top = max(wide, {-1}, KeepDim::yes);
  for (std::int64_t line = 0; const double at : top.data<double>()) {
    if (!(at < std::numeric_limits<double>::infinity())) {
      throw ValueError(fmt::format("[categorical] logit is not a number below infinity: {}", at));
    }
    if (std::isinf(at)) throw ValueError(fmt::format("[categorical] all logits are -inf: line {}", line));
    ++line;
  }
  const Tensor weights = exp(sub(wide, top)).contiguous();
  Tensor result = Tensor::empty(top.squeeze(-1).shape(), DType::i64);
  std::span<std::int64_t> rest = result.mutable_data<std::int64_t>();
  for (const Line& line : lines_of(weights)) {
    draw_with_replacement(line, rest.first(1), generator);
    rest = rest.subspan(1);
  }
  return result.to(logits.device());
}

}  // namespace troupe

#include "tensor/create.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "tensor/cpu/elements.h"
#include "tensor/kernels/table.h"
#include "tensor/ops/checks.h"

namespace troupe {

Tensor empty(const Shape& shape, DType dtype, Device device) { return Tensor::empty(shape, dtype, device); }

Tensor zeros(const Shape& shape, DType dtype, Device device) {
  require_available("zeros", device);
  if (device.kind != DeviceKind::cpu) return full(shape, 0.0, dtype, device);
  Tensor result = Tensor::empty(shape, dtype, device);
  if (result.numel() > 0) std::memset(result.mutable_bytes(), 0, result.nbytes());
  return result;
}

Tensor ones(const Shape& shape, DType dtype, Device device) {
  require_available("ones", device);
  return full(shape, 1.0, dtype, device);
}

Tensor full(const Shape& shape, double value, DType dtype, Device device) {
  require_available("full", device);
  detail::require_value_of("full", value, dtype);
  Tensor result = Tensor::empty(shape, dtype, device);
  kernels_of(result).fill(result, value);
  return result;
}

Tensor empty_like(const Tensor& x) {
  x.require_defined("empty_like");
  return Tensor::empty(x.shape(), x.dtype(), x.device());
}

Tensor zeros_like(const Tensor& x) {
  x.require_defined("zeros_like");
  return zeros(x.shape(), x.dtype(), x.device());
}

Tensor ones_like(const Tensor& x) {
  x.require_defined("ones_like");
  return ones(x.shape(), x.dtype(), x.device());
}

Tensor full_like(const Tensor& x, double value) {
  x.require_defined("full_like");
  return full(x.shape(), value, x.dtype(), x.device());
}

template <Element T>
Tensor scalar(T value) {
  return from_values<T>({value}, {});
}

template <Element T>
Tensor from_values(std::span<const T> values, const Shape& shape) {
  if (shape.numel() != static_cast<std::int64_t>(values.size())) {
    throw ShapeError(fmt::format("[from_values] {} values for shape: {}", values.size(), to_string(shape)));
  }
  Tensor result = Tensor::empty(shape, dtype_of<T>);
  std::ranges::copy(values, cpu::mutable_elements<T>(result));  // mutable_data() would expose the storage
  return result;
}

#define TROUPE_FOR_ELEMENT(T)         \
  template Tensor scalar<T>(T value); \
  template Tensor from_values<T>(std::span<const T> values, const Shape& shape);
TROUPE_FOR_ELEMENT(bool)
TROUPE_FOR_ELEMENT(std::uint8_t)
TROUPE_FOR_ELEMENT(std::int8_t)
TROUPE_FOR_ELEMENT(std::int16_t)
TROUPE_FOR_ELEMENT(std::int32_t)
TROUPE_FOR_ELEMENT(std::int64_t)
TROUPE_FOR_ELEMENT(Half)
TROUPE_FOR_ELEMENT(BFloat16)
TROUPE_FOR_ELEMENT(float)
TROUPE_FOR_ELEMENT(double)
#undef TROUPE_FOR_ELEMENT

Tensor arange(std::int64_t count, DType dtype) {
  if (count < 0) throw ValueError(fmt::format("[arange] negative count: {}", count));
  return arange(0.0, static_cast<double>(count), 1.0, dtype);
}

Tensor arange(double start, double end, double step, DType dtype) {
  const double count = std::max(std::ceil((end - start) / step), 0.0);  // NaN stays
  if (step == 0.0 || !std::isfinite(count) || count > 0x1p52) {
    throw ValueError(fmt::format("[arange] endless: from {} to {} by {}", start, end, step));
  }
  const auto size = static_cast<std::int64_t>(count);
  if (size > 0) {
    detail::require_value_of("arange", start, dtype);
    if (size > 1) detail::require_value_of("arange", start + step, dtype);
    detail::require_value_of("arange", start + static_cast<double>(size - 1) * step, dtype);
  }
  Tensor result = Tensor::empty({size}, dtype);
  dispatch(dtype, [&]<class T>(std::type_identity<T>) {
    const auto out = result.mutable_data<T>();
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<T>(start + static_cast<double>(i) * step);
  });
  return result;
}

Tensor linspace(double start, double end, std::int64_t count, DType dtype) {
  if (count < 0) throw ValueError(fmt::format("[linspace] count below 0: {}", count));
  Tensor result = Tensor::empty({count}, compute_dtype(dtype));
  dispatch_floating("linspace", dtype, [&]<class T>(std::type_identity<T>) {
    const std::span<T> out = result.mutable_data<T>();
    const double step = (end - start) / static_cast<double>(std::max<std::int64_t>(count - 1, 1));
    // Counts from the nearer end, so that both ends are exact.
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto left = static_cast<double>(out.size() - 1 - i);
      out[i] = static_cast<T>(2 * i < out.size() ? start + static_cast<double>(i) * step : end - left * step);
    }
  });
  return result.to(dtype);
}

Tensor eye(std::int64_t n, DType dtype) {
  Tensor result = zeros({n, n}, dtype);
  dispatch(dtype, [&]<class T>(std::type_identity<T>) {
    const auto out = result.mutable_data<T>();
    const auto step = static_cast<std::size_t>(n) + 1;
    for (std::size_t i = 0; i < out.size(); i += step) out[i] = static_cast<T>(1);
  });
  return result;
}

namespace {

using Kind = kernels::RealDistribution::Kind;

Tensor draw_reals(std::string_view op, const Shape& shape, const kernels::RealDistribution& distribution,
                  Generator& generator, DType dtype, Device device) {
  if (!is_floating(dtype)) detail::throw_not_floating(op, dtype);
  require_available(op, device);
  Tensor result = Tensor::empty(shape, compute_dtype(dtype), device);
  kernels_of(result).draw_reals(result, distribution, kernels::next_draws(generator, result.numel()));
  return result.to(dtype);
}

}  // namespace

Tensor rand(const Shape& shape, Generator& generator, DType dtype, Device device) {
  return draw_reals("rand", shape, {Kind::unit}, generator, dtype, device);
}

Tensor uniform(const Shape& shape, double low, double high, Generator& generator, DType dtype, Device device) {
  if (low > high) throw ValueError(fmt::format("[uniform] low above high: {} > {}", low, high));
  const bool is_f32 = is_floating(dtype) && compute_dtype(dtype) == DType::f32;
  const double most = is_f32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
  const bool fits = std::isfinite(high - low) && std::abs(low) <= most && std::abs(high) <= most;
  if (!fits && shape.numel() > 0) {  // no elements, no range: a layer without inputs has an infinite one
    throw ValueError(fmt::format("[uniform] range not finite in {}: from {} to {}", name_of(dtype), low, high));
  }
  return draw_reals("uniform", shape, {Kind::uniform, low, high}, generator, dtype, device);
}

Tensor randn(const Shape& shape, Generator& generator, DType dtype, Device device) {
  return draw_reals("randn", shape, {Kind::normal}, generator, dtype, device);
}

Tensor rand_like(const Tensor& x, Generator& generator) {
  x.require_defined("rand_like");
  return rand(x.shape(), generator, x.dtype(), x.device());
}

Tensor randn_like(const Tensor& x, Generator& generator) {
  x.require_defined("randn_like");
  return randn(x.shape(), generator, x.dtype(), x.device());
}

Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape, Generator& generator, Device device) {
  if (low >= high) throw ValueError(fmt::format("[randint] empty range: [{}, {})", low, high));
  require_available("randint", device);
  const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  Tensor result = Tensor::empty(shape, DType::i64, device);
  Generator ahead = generator;
  if (kernels_of(result).draw_integers(result, low, range, kernels::next_draws(ahead, result.numel()))) {
    generator = ahead;
    return result;
  }
  // A draw was rejected, which is rare: every later element uses a later draw, so the CPU draws all in sequence.
  Tensor here = Tensor::empty(shape, DType::i64);
  for (std::int64_t& out : here.mutable_data<std::int64_t>()) {
    out = static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + generator.below(range));
  }
  return here.to(device);
}

Tensor permutation(std::int64_t n, Generator& generator, Device device) {
  require_available("permutation", device);
  Tensor result = arange(n);
  const auto out = result.mutable_data<std::int64_t>();
  for (std::size_t i = out.size(); i > 1; --i) std::swap(out[i - 1], out[generator.below(i)]);
  return result.to(device);
}

}  // namespace troupe

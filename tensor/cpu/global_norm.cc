#include "tensor/kernels/global_norm.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tensor/cpu/convert.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/vectorized.h"

namespace troupe::cpu {
namespace {

constexpr std::int64_t kLanes = 16;
constexpr std::int64_t kPartElements = 32 * kBlockElements;
static_assert(kBlockElements % kLanes == 0);

using Lanes = std::array<double, kLanes>;

struct Squares {
  [[nodiscard]] double step(double total, double x) const { return total + x * x; }
  [[nodiscard]] double join(double a, double b) const { return a + b; }
};

struct Magnitudes {
  [[nodiscard]] double step(double total, double x) const { return total + std::abs(x); }
  [[nodiscard]] double join(double a, double b) const { return a + b; }
};

struct Powers {
  double p;
  [[nodiscard]] double step(double total, double x) const { return total + std::pow(std::abs(x), p); }
  [[nodiscard]] double join(double a, double b) const { return a + b; }
};

struct Largest {
  // NaN is larger than all numbers, and stays.
  [[nodiscard]] double step(double total, double x) const { return join(total, std::abs(x)); }
  [[nodiscard]] double join(double a, double b) const { return b > a || b != b ? b : a; }
};

/// Adjacent elements of one tensor.
struct Part {
  const std::byte* data;
  DType dtype;
  std::int64_t count;
};

// Element k is folded into lane k mod kLanes.
template <class T, class Fold>
void fold_block(Lanes& lanes, const T* row, std::int64_t count, const Fold& fold) {
  const std::int64_t whole = count - count % kLanes;
  vectorized([ to = &lanes, row, whole, fold ]() __attribute__((always_inline)) {
    Lanes local = *to;
    for (std::int64_t i = 0; i < whole; i += kLanes) {
      for (std::int64_t k = 0; k < kLanes; ++k) {
        const auto lane = static_cast<std::size_t>(k);
        local[lane] = fold.step(local[lane], static_cast<double>(row[i + k]));
      }
    }
    *to = local;
  });
  for (std::int64_t i = whole; i < count; ++i) {
    double& lane = lanes[static_cast<std::size_t>(i - whole)];
    lane = fold.step(lane, static_cast<double>(row[i]));
  }
}

template <class T, class Fold>
double fold_part(const Part& part, const Fold& fold) {
  Lanes lanes{};
  const Source<T> source{part.data, part.dtype};
  source.read(0, 1, part.count,
              [&](const T* row, std::int64_t, std::int64_t count) { fold_block(lanes, row, count, fold); });
  for (std::size_t width = lanes.size() / 2; width > 0; width /= 2) {
    for (std::size_t lane = 0; lane < width; ++lane) lanes[lane] = fold.join(lanes[lane], lanes[lane + width]);
  }
  return lanes[0];
}

template <class Fold>
double fold_all(std::span<const Tensor> xs, const Fold& fold) {
  std::vector<Tensor> contiguous;  // owns the memory of the parts
  std::vector<Part> parts;
  for (const Tensor& x : xs) {
    contiguous.push_back(x.contiguous());
    const std::byte* const data = contiguous.back().bytes();
    for (std::int64_t at = 0; at < x.numel(); at += kPartElements) {
      parts.push_back({data + at * static_cast<std::int64_t>(size_of(x.dtype())), x.dtype(),
                       std::min(kPartElements, x.numel() - at)});
    }
  }
  std::vector<double> of_parts(parts.size());
  parallel_for(static_cast<std::int64_t>(parts.size()), kPartElements, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      of_parts[i] = parts[i].dtype == DType::f64 ? fold_part<double>(parts[i], fold) : fold_part<float>(parts[i], fold);
    }
  });
  // First the parts of each tensor, so that a tensor contributes what it gives alone.
  double total = 0.0;
  std::size_t next = 0;
  for (const Tensor& x : xs) {
    double of_tensor = 0.0;
    for (std::int64_t at = 0; at < x.numel(); at += kPartElements) of_tensor = fold.join(of_tensor, of_parts[next++]);
    total = fold.join(total, of_tensor);
  }
  return total;
}

double sum_of_powers(std::span<const Tensor> xs, double p) {
  if (p == 2.0) return fold_all(xs, Squares{});
  if (p == 1.0) return fold_all(xs, Magnitudes{});
  return fold_all(xs, Powers{p});
}

double largest_magnitude(std::span<const Tensor> xs) { return fold_all(xs, Largest{}); }

}  // namespace

const kernels::GlobalNormKernels global_norm_kernels{.sum_of_powers = sum_of_powers,
                                                     .largest_magnitude = largest_magnitude};

}  // namespace troupe::cpu

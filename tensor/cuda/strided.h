// Computes the offset of an element in each operand from its number, in 32 bits and without divisions.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensor/kernels/host_device.h"
#include "tensor/kernels/walk.h"

namespace troupe::cuda {

/// Division by a number known before the kernel starts, as a multiplication and a shift. Source: Granlund and
/// Montgomery, "Division by invariant integers using multiplication", 1994.
struct FastDivisor {
  std::uint32_t divisor = 1;
  std::uint32_t magic = 1;
  std::uint32_t shift = 0;

  FastDivisor() = default;
  /// REQUIRES: 1 <= divisor < 2^31.
  explicit FastDivisor(std::uint32_t divisor_in)
      : divisor(divisor_in), shift(static_cast<std::uint32_t>(std::bit_width(divisor_in - 1))) {
    magic = static_cast<std::uint32_t>((((std::uint64_t{1} << shift) - divisor) << 32U) / divisor + 1);
  }

  /// Returns n / divisor. REQUIRES: n < 2^31.
  [[nodiscard]] TROUPE_HOST_DEVICE std::uint32_t quotient(std::uint32_t n) const {
    const auto high = static_cast<std::uint32_t>((std::uint64_t{n} * magic) >> 32U);
    return (high + n) >> shift;
  }
};

/// A Walk whose numbers fit into 32 bits. Kernels take it by value.
template <std::size_t N>
struct Strided {
  std::int32_t rank = 1;
  std::uint32_t numel = 0;
  std::array<FastDivisor, kDimsMax> sizes{};
  std::array<std::array<std::uint32_t, N>, kDimsMax> strides{};

  Strided() = default;
  explicit Strided(const kernels::Walk<N>& walk) : rank(walk.rank), numel(static_cast<std::uint32_t>(walk.numel)) {
    for (std::size_t d = 0; d < static_cast<std::size_t>(rank); ++d) {
      sizes[d] = FastDivisor(static_cast<std::uint32_t>(std::max(walk.sizes[d], std::int64_t{1})));
      for (std::size_t n = 0; n < N; ++n) strides[d][n] = static_cast<std::uint32_t>(walk.strides[d][n]);
    }
  }

  /// Returns the offset of element i < numel, in row-major order, in each operand.
  [[nodiscard]] TROUPE_HOST_DEVICE std::array<std::uint32_t, N> offsets(std::uint32_t i) const {
    std::array<std::uint32_t, N> result{};
    for (std::size_t d = static_cast<std::size_t>(rank) - 1; d > 0; --d) {
      const std::uint32_t outer = sizes[d].quotient(i);
      const std::uint32_t index = i - outer * sizes[d].divisor;
      for (std::size_t n = 0; n < N; ++n) result[n] += index * strides[d][n];
      i = outer;
    }
    for (std::size_t n = 0; n < N; ++n) result[n] += i * strides[0][n];
    return result;
  }
};

/// Strided holds walks with fewer elements, and with smaller offsets, than this.
inline constexpr std::int64_t kSmallWalk = std::int64_t{1} << 31;

/// Returns the largest offset of an operand along dimension `d`.
template <std::size_t N>
std::int64_t reach(const kernels::Walk<N>& walk, std::size_t d) {
  return (walk.sizes[d] - 1) * std::ranges::max(walk.strides[d]);
}

template <std::size_t N>
bool is_small(const kernels::Walk<N>& walk, std::int64_t limit) {
  std::int64_t last = 0;
  for (std::size_t d = 0; d < static_cast<std::size_t>(walk.rank); ++d) last += reach(walk, d);
  return walk.numel < limit && last < limit;
}

/// Calls f(part, starts) for small parts that cover `walk`. `starts` holds the offset of the part's first element in
/// each operand. Almost always the whole walk is the only part. REQUIRES: walk.numel > 0.
template <std::size_t N, class F>
void for_each_small(const kernels::Walk<N>& walk, const F& f, std::int64_t limit = kSmallWalk) {
  struct Part {
    kernels::Walk<N> walk;
    std::array<std::int64_t, N> starts{};
  };
  std::vector<Part> parts{{walk, {}}};
  while (!parts.empty()) {
    Part part = parts.back();
    parts.pop_back();
    if (is_small(part.walk, limit)) {
      f(Strided<N>(part.walk), part.starts);
      continue;
    }
    // Splits the dimension that reaches furthest. The second half is handled later, so the parts are in order if that
    // dimension is the outermost.
    std::size_t cut = 0;
    for (std::size_t d = 1; d < static_cast<std::size_t>(walk.rank); ++d) {
      if (reach(part.walk, d) > reach(part.walk, cut)) cut = d;
    }
    if (reach(part.walk, cut) == 0) cut = 0;
    const std::int64_t size = part.walk.sizes[cut];
    Part second = part;
    part.walk.sizes[cut] = size / 2;
    second.walk.sizes[cut] = size - size / 2;
    part.walk.numel = part.walk.numel / size * (size / 2);
    second.walk.numel -= part.walk.numel;
    for (std::size_t n = 0; n < N; ++n) second.starts[n] += size / 2 * second.walk.strides[cut][n];
    parts.push_back(second);
    parts.push_back(part);
  }
}

}  // namespace troupe::cuda

// Random numbers that depend on a seed and a counter only: equal on every machine, device, build and number of threads.
#pragma once

#include <array>
#include <cstdint>

namespace troupe {

/// Returns one block of Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
[[nodiscard]] std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                                      std::array<std::uint32_t, 2> key) noexcept;

/// A stream of random numbers. A value: a copy continues independently from the same position.
/// Not thread-safe.
class Generator {
 public:
  /// Streams with different `stream` numbers under one seed are independent.
  explicit Generator(std::uint64_t seed, std::uint64_t stream = 0) noexcept : seed_(seed), stream_(stream) {}

  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  [[nodiscard]] std::uint64_t stream() const noexcept { return stream_; }

  /// Returns the next 128 bits. Every draw below consumes one such block; `below` rarely consumes more.
  std::array<std::uint32_t, 4> next_block() noexcept;
  std::uint64_t next_u64() noexcept;
  /// Skips `blocks` blocks, as so many calls of next_block() do, and returns the number of the first one. The caller
  /// computes the skipped blocks from their numbers, with philox4x32.
  std::uint64_t skip(std::uint64_t blocks) noexcept;

  /// Returns a double in [0, 1), a multiple of 2^-53.
  double uniform() noexcept;
  /// Returns a normally distributed number of mean 0 and variance 1 (Box-Muller).
  double normal() noexcept;
  /// Returns an integer in [0, bound), without bias. REQUIRES: bound > 0.
  std::uint64_t below(std::uint64_t bound) noexcept;

  friend bool operator==(const Generator&, const Generator&) = default;

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
  std::uint64_t counter_ = 0;
};

}  // namespace troupe

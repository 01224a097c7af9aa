// Random numbers that depend on a seed and a counter only: equal on every machine, thread count and build, and on GPUs.
#pragma once

#include <array>
#include <cstdint>

namespace troupe {

/// One block of Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
[[nodiscard]] std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                                      std::array<std::uint32_t, 2> key) noexcept;

/// A stream of random numbers. A value: a copy continues from the same place independently.
/// Not safe for use by two threads at once.
class Generator {
 public:
  /// Streams with different `stream` numbers under one seed are independent.
  explicit Generator(std::uint64_t seed, std::uint64_t stream = 0) noexcept : seed_(seed), stream_(stream) {}

  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  [[nodiscard]] std::uint64_t stream() const noexcept { return stream_; }

  /// Returns 128 fresh bits. The draws below take one block each (`below` more, seldom).
  std::array<std::uint32_t, 4> next_block() noexcept;
  std::uint64_t next_u64() noexcept;
  /// As so many calls of next_block(), at once. Returns the number of the first: philox4x32 makes blocks of numbers.
  std::uint64_t skip(std::uint64_t blocks) noexcept;

  /// Returns a double in [0, 1), a multiple of 2^-53.
  double uniform() noexcept;
  /// Returns a normally distributed number of mean 0 and variance 1 (Box-Muller).
  double normal() noexcept;
  /// Returns an integer in [0, bound), without bias. Requires bound > 0.
  std::uint64_t below(std::uint64_t bound) noexcept;

  friend bool operator==(const Generator&, const Generator&) = default;

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
  std::uint64_t counter_ = 0;
};

}  // namespace troupe

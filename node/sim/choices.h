// All random choices of a simulated world, from one seed.
#pragma once

#include <cmath>
#include <cstdint>

#include "actors/clock.h"

namespace troupe::sim {

/// A stream of choices that depends on the seed alone (splitmix64, Steele et al. 2014). Belongs to one world.
class Choices {
 public:
  explicit Choices(std::uint64_t seed) : state_(seed) {}

  [[nodiscard]] std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }

  /// Returns one of 0 to `count` - 1. REQUIRES: count > 0.
  [[nodiscard]] std::uint64_t below(std::uint64_t count) { return bits() % count; }

  /// Returns true with the given probability.
  [[nodiscard]] bool chance(double probability) { return probability > 0 && unit() < probability; }

  /// Returns a duration from 0 to `longest`, uniformly distributed.
  [[nodiscard]] Duration up_to(Duration longest) {
    return Duration(static_cast<std::int64_t>(below(static_cast<std::uint64_t>(longest.count()) + 1)));
  }

  /// Returns an exponentially distributed duration: mostly short, sometimes several times `mean`.
  [[nodiscard]] Duration around(Duration mean) {
    return Duration(static_cast<std::int64_t>(-std::log1p(-unit()) * static_cast<double>(mean.count())));
  }

 private:
  /// Returns a number in [0, 1).
  [[nodiscard]] double unit() { return static_cast<double>(bits() >> 11U) * 0x1p-53; }

  std::uint64_t state_;
};

}  // namespace troupe::sim

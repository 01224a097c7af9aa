#include "samples/embed/moons.h"

#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>
#include <vector>

#include "tensor/create.h"
#include "tensor/ops.h"

namespace samples {

using troupe::Generator;

Moons draw_moons(std::int64_t count, std::uint64_t seed) {
  constexpr double kScatter = 0.1;
  Generator generator(seed);
  std::vector<float> points;
  std::vector<std::int64_t> upper;
  for (std::int64_t i = 0; i < count; ++i) {
    const bool is_upper = i % 2 == 0;
    const double angle = generator.uniform() * std::numbers::pi;
    const double x = std::cos(angle);
    const double y = std::sin(angle);
    points.push_back(static_cast<float>(is_upper ? x : 1.0 - x));
    points.push_back(static_cast<float>(is_upper ? y : 0.5 - y));
    upper.push_back(is_upper ? 1 : 0);
  }
  const troupe::Shape shape{count, 2};
  return {troupe::from_values<float>(points, shape) + troupe::randn(shape, generator) * kScatter,
          troupe::from_values<std::int64_t>(upper, {count})};
}

}  // namespace samples

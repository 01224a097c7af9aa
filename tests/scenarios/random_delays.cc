#include "tests/scenarios/random_delays.h"

#include <memory>
#include <random>
#include <utility>

#include "node/sim/faulty_link.h"

namespace troupe::testing {

LocalClusterOptions random_delays(std::uint64_t seed, std::chrono::microseconds delay_max) {
  LocalClusterOptions options;
  options.wrap_link = [seed, delay_max, next = std::uint64_t{0}](std::unique_ptr<Link> link) mutable {
    const auto draw = [delay_max, random = std::mt19937_64(seed * 16 + next++)](const NodeName&,
                                                                                const Frames&) mutable -> sim::Fate {
      return std::chrono::microseconds(std::uniform_int_distribution<std::int64_t>(0, delay_max.count())(random));
    };
    return std::make_unique<sim::FaultyLink>(std::move(link), draw);
  };
  return options;
}

}  // namespace troupe::testing

// Runs a scenario under many seeds. A failure prints its seed and the last steps of its world.
#pragma once

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <span>
#include <vector>

#include "node/sim/world.h"

namespace troupe::testing {

/// Returns seeds 1 to `count`. TROUPE_SIM_SEEDS sets another count; TROUPE_SIM_SEED selects one seed.
[[nodiscard]] std::vector<std::uint64_t> seeds(std::uint64_t count);

/// Returns whether TROUPE_SIM_SEEDS is set. Loops over every moment of a death then try each kind of death at each.
[[nodiscard]] bool is_long_run();

/// Prints the end of the world's trace if an assertion failed during the guard's life.
class TraceIfFailed {
 public:
  explicit TraceIfFailed(const sim::World& world);
  ~TraceIfFailed();
  TraceIfFailed(const TraceIfFailed&) = delete;
  TraceIfFailed& operator=(const TraceIfFailed&) = delete;

 private:
  const sim::World& world_;
  const std::uint64_t failures_before_;
};

/// Returns whether the nodes that live have no calls, references, contexts and shards left.
[[nodiscard]] bool nothing_left(sim::World& world, std::span<const NodeName> names);

/// Nothing that either node sends reaches the other one until it heals.
void cut_both_ways(sim::World& world, const NodeName& one, const NodeName& other);
void heal_both_ways(sim::World& world, const NodeName& one, const NodeName& other);

/// Sums over all seeds, which show that a scenario's faults occurred: each must be above 0.
struct FaultsSeen {
  sim::WorldCounts sum;
  void add(const sim::WorldCounts& counts);
  /// Fails if messages were never dropped, repeated or reordered.
  void check_links() const;
};

/// Returns the options of a bad network, worse for every tenth seed.
[[nodiscard]] sim::WorldOptions bad_network(std::uint64_t seed);

}  // namespace troupe::testing

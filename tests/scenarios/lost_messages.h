// Messages of one type that are lost until the test lets them through.
#pragma once

#include <atomic>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "node/local_cluster.h"
#include "node/sim/faulty_link.h"

namespace troupe::testing {

/// Returns options for clusters that lose every message of this type, also when the session sends it again, as long as
/// `lost` is true. REQUIRES: `lost` outlives the cluster.
[[nodiscard]] inline LocalClusterOptions losing(std::string message, const std::atomic<bool>& lost) {
  const sim::FaultRules rules({{.message = std::move(message), .fail_first = std::numeric_limits<int>::max()}});
  LocalClusterOptions options;
  options.wrap_link = [rules, &lost](std::unique_ptr<Link> link) {
    return std::make_unique<sim::FaultyLink>(
        std::move(link), [decide = rules.decide(), &lost](const NodeName& to, const Frames& frames) mutable {
          const sim::Fate fate = decide(to, frames);
          return lost ? fate : sim::Fate(0);
        });
  };
  return options;
}

}  // namespace troupe::testing

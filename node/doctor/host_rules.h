// Which facts about one host are warnings and problems.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "node/doctor/doctor_messages.h"
#include "node/doctor/finding.h"

namespace troupe::detail {

/// What a cluster needs of one host.
struct HostNeeds {
  std::size_t nodes = 0;             ///< of the cluster that run there
  std::size_t nodes_of_cluster = 0;  ///< on all hosts
  bool encrypts = false;             ///< nodes have keys
  friend bool operator==(const HostNeeds&, const HostNeeds&) = default;
};

/// One question for a host's time. All are microseconds since 1970.
struct ClockSample {
  std::int64_t asked = 0;     ///< by our clock
  std::int64_t told = 0;      ///< by the host's
  std::int64_t answered = 0;  ///< by ours
};

/// Returns the descriptors that each node of such a cluster may take.
[[nodiscard]] std::uint64_t descriptors_needed(std::size_t nodes_of_cluster);

/// Judges the difference between a host's clock and ours, which is known to half of the time there and back. The
/// shortest of `samples` counts. REQUIRES: there is one.
[[nodiscard]] Finding judge_clock(const std::vector<ClockSample>& samples);

/// Judges limits, memory and libraries.
[[nodiscard]] std::vector<Finding> judge_facts(const HostFacts& facts, const HostNeeds& needs);

/// Judges the address, the port and how many ports are free.
[[nodiscard]] std::vector<Finding> judge_listening(const Listening& listening, const HostNeeds& needs);

}  // namespace troupe::detail

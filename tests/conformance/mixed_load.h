// Everything at once: calls, references, passes, optimizers, streams, collectives, replicas and pipelines, on threads
// that draw their values from a seed and know each result.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "node/node.h"

namespace troupe::testing {

/// How often each activity was done, and each failure. Thread-safe.
class MixedTally {
 public:
  void count(const std::string& activity);
  void fail(const std::string& activity, const std::string& text);

  [[nodiscard]] std::map<std::string, std::uint64_t> done() const;
  [[nodiscard]] std::map<std::string, std::uint64_t> failures() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t> done_;      // guarded by mutex_
  std::map<std::string, std::uint64_t> failures_;  // guarded by mutex_
};

/// A unit of load from the trainer to p1, p2 and p3. Throws if a result is wrong, a call fails that may not, or one has
/// no end within 120 s.
struct MixedActivity {
  std::string name;
  std::function<void(const Node& trainer, std::mt19937& random)> run;
};

struct MixedActivities {
  std::vector<MixedActivity> shared;  ///< may run on any number of threads
  std::vector<MixedActivity> alone;   ///< form collectives of the same members: on one thread
};

/// Returns all kinds of activities. `bytes_max`: of the largest tensor.
[[nodiscard]] MixedActivities mixed_activities(std::int64_t bytes_max);

/// Runs activities on `threads` threads and one more, while `goes_on` is true before each, and counts them in `tally`.
/// `goes_on` is called on all these threads.
void run_mixed_load(const Node& trainer, const MixedActivities& activities, int threads, std::uint32_t seed,
                    MixedTally& tally, const std::function<bool()>& goes_on);

}  // namespace troupe::testing

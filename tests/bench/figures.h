// Results of benchmarks: times, printed as JSON lines.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace troupe::bench {

using SteadyClock = std::chrono::steady_clock;

/// Prints `{"name": "rpc/identity/none/ipc", "unit": "us", "median": 61.2, "p99": 110.4, "n": 2000}`.
void print(const std::string& name, const std::string& unit, std::vector<double> samples);

/// Returns the value below which `share` of the sorted samples lie. REQUIRES: there are samples.
[[nodiscard]] double percentile(const std::vector<double>& sorted, double share);

/// What some iterations took.
struct Timing {
  Timing(double all) : seconds(all) {}  // NOLINT(google-explicit-constructor): most rows measure no more
  explicit Timing(std::vector<double> of_each);

  double seconds;            ///< of all
  std::vector<double> each;  ///< seconds of each; empty: they overlap, or were not measured
};

[[nodiscard]] double seconds_since(SteadyClock::time_point begin);
[[nodiscard]] double seconds_of(const std::function<void()>& work);

}  // namespace troupe::bench

// Results of benchmarks: times, printed as JSON lines.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
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

/// Returns the microseconds of `count` runs of `work`, one by one, after one that is not counted.
[[nodiscard]] std::vector<double> times_of(std::size_t count, const std::function<void()>& work);

/// Prints "ready", then answers each number of iterations on standard input with a line: the seconds that `run` needed
/// and, if it measured each iteration, those within which 50, 90, 99 and 99.9 % of them ended.
void answer(const std::function<Timing(std::int64_t iterations)>& run);

}  // namespace troupe::bench

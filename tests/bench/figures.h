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

[[nodiscard]] double seconds_since(SteadyClock::time_point begin);
[[nodiscard]] double seconds_of(const std::function<void()>& work);

}  // namespace troupe::bench

#include "tests/bench/figures.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <utility>

namespace troupe::bench {

void print(const std::string& name, const std::string& unit, std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  fmt::print("{{\"name\": \"{}\", \"unit\": \"{}\", \"median\": {:.4g}, \"p99\": {:.4g}, \"n\": {}}}\n", name, unit,
             percentile(samples, 0.5), percentile(samples, 0.99), samples.size());
  std::fflush(stdout);
}

double percentile(const std::vector<double>& sorted, double share) {
  return sorted[std::min(sorted.size() - 1, static_cast<std::size_t>(share * static_cast<double>(sorted.size())))];
}

Timing::Timing(std::vector<double> of_each)
    : seconds(std::accumulate(of_each.begin(), of_each.end(), 0.0)), each(std::move(of_each)) {}

double seconds_since(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = SteadyClock::now();
  work();
  return seconds_since(begin);
}

}  // namespace troupe::bench

#include "tests/bench/figures.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
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

std::vector<double> times_of(std::size_t count, const std::function<void()>& work) {
  work();
  std::vector<double> times;
  for (std::size_t i = 0; i < count; ++i) times.push_back(1e6 * seconds_of(work));
  return times;
}

void answer(const std::function<Timing(std::int64_t iterations)>& run) {
  fmt::print("ready\n");
  std::fflush(stdout);
  for (std::int64_t count = 0; std::cin >> count;) {
    Timing timing = run(count);
    fmt::print("{:.9f}", timing.seconds);
    std::sort(timing.each.begin(), timing.each.end());
    for (const double share : {0.5, 0.9, 0.99, 0.999}) {
      if (!timing.each.empty()) fmt::print(" {:.9f}", percentile(timing.each, share));
    }
    fmt::print("\n");
    std::fflush(stdout);
  }
}

}  // namespace troupe::bench

#include "tests/bench/figures.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>

namespace troupe::bench {

void print(const std::string& name, const std::string& unit, std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const auto at = [&](double share) {
    return samples[std::min(samples.size() - 1, static_cast<std::size_t>(share * static_cast<double>(samples.size())))];
  };
  fmt::print("{{\"name\": \"{}\", \"unit\": \"{}\", \"median\": {:.4g}, \"p99\": {:.4g}, \"n\": {}}}\n", name, unit,
             at(0.5), at(0.99), samples.size());
  std::fflush(stdout);
}

double seconds_since(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = SteadyClock::now();
  work();
  return seconds_since(begin);
}

}  // namespace troupe::bench

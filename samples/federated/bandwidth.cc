#include "samples/federated/bandwidth.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <utility>

namespace samples {

using troupe::Frames;
using troupe::Link;
using troupe::NodeName;

troupe::sim::DecideFate line_of(double bytes_per_second, std::function<std::chrono::steady_clock::time_point()> now) {
  using Clock = std::chrono::steady_clock;
  return [bytes_per_second, now = std::move(now), free_from = std::map<NodeName, Clock::time_point>()](
             const NodeName& to, const Frames& frames) mutable {
    double bytes = 0;
    for (const auto& frame : frames) bytes += static_cast<double>(frame.bytes.size());
    const std::chrono::duration<double> sending(bytes / bytes_per_second);
    const Clock::time_point sent = now();
    Clock::time_point& free = free_from[to];
    free = std::max(free, sent) + std::chrono::duration_cast<Clock::duration>(sending);
    return troupe::sim::Fate(std::chrono::duration_cast<std::chrono::microseconds>(free - sent));
  };
}

troupe::LocalClusterOptions with_lines_of(double bytes_per_second) {
  troupe::LocalClusterOptions options;
  options.wrap_link = [bytes_per_second](std::unique_ptr<Link> link) {
    return std::make_unique<troupe::sim::FaultyLink>(std::move(link), line_of(bytes_per_second));
  };
  return options;
}

}  // namespace samples

// A callback for whichever of several stop tokens stops first.
#pragma once

#include <functional>
#include <list>
#include <stop_token>
#include <vector>

namespace troupe::detail {

/// While it lives, calls `stopped` when one of the tokens stops.
class StopWatch {
 public:
  StopWatch(const std::vector<std::stop_token>& tokens, const std::function<void()>& stopped) {
    for (const std::stop_token& token : tokens) callbacks_.emplace_back(token, stopped);
  }

 private:
  std::list<std::stop_callback<std::function<void()>>> callbacks_;
};

}  // namespace troupe::detail

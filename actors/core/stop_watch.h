// A callback for whichever of several stop tokens stops first.
#pragma once

#include <functional>
#include <list>
#include <optional>
#include <stop_token>
#include <vector>

namespace troupe::detail {

/// While it lives, calls `stopped` when one of the tokens stops.
class StopWatch {
 public:
  StopWatch(const std::vector<std::stop_token>& tokens, const std::function<void()>& stopped) {
    for (const std::stop_token& token : tokens) {
      if (first_) others_.emplace_back(token, stopped);
      else first_.emplace(token, stopped);
    }
  }

 private:
  using Callback = std::stop_callback<std::function<void()>>;
  std::optional<Callback> first_;  // most requests have one
  std::list<Callback> others_;
};

}  // namespace troupe::detail

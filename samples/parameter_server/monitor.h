// What a trainer shows while it trains.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>

#include "node/environment.h"
#include "samples/progress.h"

namespace samples {

/// Shows the running mean of the loss and how fast it goes.
class Monitor {
 public:
  Monitor(std::int64_t steps, std::int64_t batch) : progress_(std::cout, style(), "training", steps), batch_(batch) {}

  /// One more step was taken, at this loss.
  void stepped(double loss) {
    ++steps_;
    loss_ += (loss - loss_) / static_cast<double>(std::min<std::int64_t>(steps_, 20));
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start_;
    const double rate = static_cast<double>(steps_ * batch_) / seconds.count();
    progress_.update(steps_, fmt::format("loss {:.3f}, {:.0f} examples/s", loss_, rate));
  }

 private:
  static Progress::Style style() {
    return troupe::read_environment().shows_bars ? Progress::Style::bar : Progress::Style::lines;
  }

  Progress progress_;
  const std::int64_t batch_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::int64_t steps_ = 0;
  double loss_ = 0;
};

}  // namespace samples

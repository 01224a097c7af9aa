// What a step of an episode was worth.
#pragma once

#include <span>
#include <vector>

namespace samples {

/// For each step its reward and all later ones, a reward k steps later counting `discount` to the power of k.
[[nodiscard]] std::vector<double> discounted_returns(std::span<const double> rewards, double discount);

/// The values less their mean, over their standard deviation; zeros if they are all equal.
[[nodiscard]] std::vector<double> standardised(std::span<const double> values);

}  // namespace samples

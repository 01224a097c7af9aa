#include "samples/reinforcement/returns.h"

#include <cmath>
#include <numeric>

namespace samples {

std::vector<double> discounted_returns(std::span<const double> rewards, double discount) {
  std::vector<double> returns(rewards.size());
  double later = 0;
  for (std::size_t i = rewards.size(); i-- > 0;) returns[i] = later = rewards[i] + discount * later;
  return returns;
}

std::vector<double> standardised(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double deviation = std::sqrt(squares / count);
  std::vector<double> result(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) result[i] = deviation > 0 ? (values[i] - mean) / deviation : 0;
  return result;
}

}  // namespace samples

// One row of the benchmark of values and gradients, computed by Troupe. peer.py has the same rows.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace troupe::bench {

/// Runs the measured work once. Owns its operands.
using Work = std::function<void()>;

struct Row {
  std::string name;               ///< "conv2d/32x64x28/backward"
  std::string autograd;           ///< what is recorded: "none", "forward", "forward + backward", "training step"
  std::function<Work()> prepare;  ///< creates the operands; not measured
  bool large = false;             ///< takes seconds
};

[[nodiscard]] std::vector<Row> elementwise_rows();
[[nodiscard]] std::vector<Row> order_rows();
[[nodiscard]] std::vector<Row> product_rows();
[[nodiscard]] std::vector<Row> layer_rows();
[[nodiscard]] std::vector<Row> training_rows();
[[nodiscard]] std::vector<Row> gpu_rows();

}  // namespace troupe::bench

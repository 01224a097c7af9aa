// Padding layers. They have no parameters, and forward() is thread-safe.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "autograd/nn/module.h"
#include "tensor/ops/pad.h"

namespace troupe::nn {

/// pad() of the last dimensions as a layer, with a constant or with elements of the tensor: torch's ZeroPad,
/// ConstantPad, ReflectionPad, ReplicationPad and CircularPad, for any number of dimensions.
class Pad final : public Layer {
 public:
  explicit Pad(std::vector<std::int64_t> amounts, double value = 0.0);
  Pad(std::vector<std::int64_t> amounts, PadMode mode);

  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  std::vector<std::int64_t> amounts_;
  std::variant<double, PadMode> with_;
};

}  // namespace troupe::nn

// Layers one after the other.
#pragma once

#include <memory>
#include <vector>

#include "autograd/nn/module.h"

namespace troupe::nn {

/// Feeds each layer's result to the next. Parts are named "0", "1", ... Threads: as the strictest of its layers.
class Sequential final : public Layer {
 public:
  /// Throws ValueError if a layer is null.
  explicit Sequential(std::vector<std::shared_ptr<Layer>> layers);

  /// Of no layers: `x` itself.
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  std::vector<std::shared_ptr<Layer>> layers_;
};

/// A Sequential of these layers: `sequential(make_shared<Linear>(...), make_shared<Relu>())`.
template <class... Layers>
[[nodiscard]] std::shared_ptr<Sequential> sequential(std::shared_ptr<Layers>... layers) {
  return std::make_shared<Sequential>(std::vector<std::shared_ptr<Layer>>{std::move(layers)...});
}

}  // namespace troupe::nn

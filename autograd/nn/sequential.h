// Chains of layers.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "autograd/nn/module.h"

namespace troupe::nn {

/// Applies each layer to the result of the previous one. Parts are named "0", "1", ... Threads: as the strictest layer.
class Sequential final : public Layer {
 public:
  Sequential();
  /// Throws ValueError if a layer is null.
  explicit Sequential(std::vector<std::shared_ptr<Layer>> layers);

  /// Appends a layer. Throws ValueError if it is null. Not thread-safe.
  void append(std::shared_ptr<Layer> layer);

  [[nodiscard]] std::size_t size() const noexcept { return layers_.size(); }
  /// Returns the layer at `index`. Throws std::out_of_range.
  [[nodiscard]] Layer& operator[](std::size_t index) const { return *layers_.at(index); }

  /// Returns `x` itself if there are no layers.
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  std::vector<std::shared_ptr<Layer>> layers_;
};

/// Returns a Sequential of these layers: `sequential(make_shared<Linear>(...), make_shared<Relu>())`.
template <class... Layers>
[[nodiscard]] std::shared_ptr<Sequential> sequential(std::shared_ptr<Layers>... layers) {
  return std::make_shared<Sequential>(std::vector<std::shared_ptr<Layer>>{std::move(layers)...});
}

}  // namespace troupe::nn

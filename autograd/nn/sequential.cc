#include "autograd/nn/sequential.h"

#include <utility>

namespace troupe::nn {

Sequential::Sequential() = default;

Sequential::Sequential(std::vector<std::shared_ptr<Layer>> layers) {
  for (auto& layer : layers) append(std::move(layer));
}

void Sequential::append(std::shared_ptr<Layer> layer) {
  layers_.push_back(add_module(std::to_string(layers_.size()), std::move(layer)));
}

Variable Sequential::forward(const Variable& x) {
  Variable y = x;
  for (const auto& layer : layers_) y = layer->forward(y);
  return y;
}

}  // namespace troupe::nn

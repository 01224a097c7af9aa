#include "autograd/nn/sequential.h"

#include <utility>

namespace troupe::nn {

Sequential::Sequential(std::vector<std::shared_ptr<Layer>> layers) : layers_(std::move(layers)) {
  for (std::size_t i = 0; i < layers_.size(); ++i) add_module(std::to_string(i), layers_[i]);
}

Variable Sequential::forward(const Variable& x) {
  Variable y = x;
  for (const auto& layer : layers_) y = layer->forward(y);
  return y;
}

}  // namespace troupe::nn

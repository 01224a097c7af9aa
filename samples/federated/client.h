// What a client of federated learning does: it has digits that never leave it, and trains a copy of the network on
// them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "autograd/nn/linear.h"
#include "autograd/nn/module.h"
#include "samples/parameter_server/mnist.h"

namespace samples {

/// Three fully connected layers: images (n, 1, 28, 28) f32 -> scores (n, 10). Any thread may call forward().
class DigitMlp final : public troupe::nn::Layer {
 public:
  /// With hidden layers of `width` elements. Equal seeds give equal first values.
  DigitMlp(std::int64_t width, std::uint64_t seed);

  [[nodiscard]] troupe::Variable forward(const troupe::Variable& images) override;

  [[nodiscard]] std::vector<troupe::Tensor> weights() const;
  void set_weights(const std::vector<troupe::Tensor>& weights);

 private:
  std::shared_ptr<troupe::nn::Linear> first_, second_, scores_;
};

/// What a client sends back: a tensor for each of the network's parameters.
struct Update {
  std::vector<troupe::Tensor> tensors;
  double seconds = 0;  ///< that the client has computed
};

/// One thread at a time.
class Client {
 public:
  /// Draws `examples` digits of its own; `number` says which.
  Client(std::uint64_t number, std::int64_t width, std::int64_t examples);

  /// Goes on from `weights`: a step of gradient descent for each batch of its digits. Returns the new weights.
  Update train(const std::vector<troupe::Tensor>& weights);

  /// Returns the gradient of the mean loss over all its digits, at `weights`.
  Update gradient(const std::vector<troupe::Tensor>& weights);

 private:
  std::vector<Batch> batches_;
  std::shared_ptr<DigitMlp> net_;
};

}  // namespace samples

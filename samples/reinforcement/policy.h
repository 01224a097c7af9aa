// The network that decides how to push the cart.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "autograd/nn/linear.h"
#include "autograd/nn/module.h"
#include "samples/reinforcement/cart_pole.h"
#include "tensor/generator.h"

namespace samples {

/// One push for each of n states.
struct Decisions {
  std::vector<Push> pushes;
  troupe::Variable surprise;  ///< minus the logarithm of each push's probability, (n)
};

/// One hidden layer of 128, with 6 of 10 elements dropped out. Any thread may call any member, each with a generator of
/// its own.
class Policy final : public troupe::nn::Module {
 public:
  /// Equal seeds give equal first values.
  explicit Policy(std::uint64_t seed);

  /// Logarithms of the probabilities of a push to the left and to the right. Shapes: states (n, 4) f32 -> (n, 2).
  [[nodiscard]] troupe::Variable forward(const troupe::Tensor& states, troupe::Generator& generator) const;

  /// Draws the pushes. All states go through the network at once.
  [[nodiscard]] Decisions decide(std::span<const CartPoleState> states, troupe::Generator& generator) const;

 private:
  std::shared_ptr<troupe::nn::Linear> hidden_;
  std::shared_ptr<troupe::nn::Linear> output_;
};

}  // namespace samples

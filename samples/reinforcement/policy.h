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

/// The size of a Policy.
struct PolicyOptions {
  std::vector<std::int64_t> hidden{128};  ///< elements of each hidden layer
  double dropout = 0.6;                   ///< share of them that is left out in each pass
};

/// Fully connected layers. Any thread may call any member, each with a generator of its own.
class Policy final : public troupe::nn::Module {
 public:
  /// Equal seeds give equal first values.
  explicit Policy(std::uint64_t seed, const PolicyOptions& options = {});

  /// Logarithms of the probabilities of a push to the left and to the right. Shapes: states (n, 4) f32 -> (n, 2).
  [[nodiscard]] troupe::Variable forward(const troupe::Tensor& states, troupe::Generator& generator) const;

  /// Draws the pushes. All states go through the network at once.
  [[nodiscard]] Decisions decide(std::span<const CartPoleState> states, troupe::Generator& generator) const;

  /// How surprising these pushes are in these states, (n). Requires as many of one as of the other.
  [[nodiscard]] troupe::Variable surprise(std::span<const CartPoleState> states, std::span<const Push> pushes,
                                          troupe::Generator& generator) const;

 private:
  double dropout_;
  std::vector<std::shared_ptr<troupe::nn::Linear>> hidden_;
  std::shared_ptr<troupe::nn::Linear> output_;
};

}  // namespace samples

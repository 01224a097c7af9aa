#include "samples/embed/moon_net.h"

#include "autograd/engine.h"
#include "autograd/ops.h"
#include "autograd/ops/nn.h"
#include "samples/embed/moons.h"
#include "tensor/create.h"
#include "tensor/ops.h"

namespace samples {

using namespace troupe;

MoonNet::MoonNet(std::uint64_t seed) {
  constexpr std::int64_t kUnits = 32;
  constexpr int kSteps = 500;
  constexpr double kRate = 0.5;
  Generator generator(seed);
  hidden_ = add_module("hidden", std::make_shared<nn::Linear>(2, kUnits, generator));
  output_ = add_module("output", std::make_shared<nn::Linear>(kUnits, 2, generator));
  const Moons moons = draw_moons(400, seed);
  for (int step = 0; step < kSteps; ++step) {
    const Gradients gradients = backward(cross_entropy(logits(moons.points), moons.upper));
    for (const Variable& parameter : parameters()) {
      parameter.set_value(parameter.value() - gradients.of(parameter) * kRate);
    }
  }
}

Variable MoonNet::logits(const Tensor& points) const { return output_->forward(tanh(hidden_->forward(points))); }

Tensor MoonNet::chances(const Tensor& points) const {
  const NoGradGuard no_graph;
  const Tensor both = softmax(logits(points)).value();  // (n, 2): lower, upper
  return squeeze(index_select(both, 1, from_values<std::int64_t>({1})), 1);
}

}  // namespace samples

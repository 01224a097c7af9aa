// A model of your own, trained in this process: ten lines of module, ten lines of training.
#include <fmt/format.h>

#include <memory>

#include "autograd/engine.h"
#include "autograd/nn/linear.h"
#include "autograd/nn/module.h"
#include "autograd/nn/state_dict.h"
#include "autograd/nn/summary.h"
#include "autograd/ops.h"
#include "autograd/ops/nn.h"
#include "optim/adam.h"
#include "optim/local_optimizer.h"
#include "samples/embed/moons.h"

using namespace troupe;

class MoonNet final : public nn::Layer {
 public:
  explicit MoonNet(Generator& generator)
      : hidden_(add_module("hidden", std::make_shared<nn::Linear>(2, 32, generator))),
        output_(add_module("output", std::make_shared<nn::Linear>(32, 2, generator))) {}
  Variable forward(const Variable& points) override { return output_->forward(tanh(hidden_->forward(points))); }

 private:
  std::shared_ptr<nn::Linear> hidden_, output_;
};

int main() {
  const samples::Moons train = samples::draw_moons(400, 1);
  const samples::Moons fresh = samples::draw_moons(2000, 2);
  Generator generator(1);
  MoonNet model(generator);
  fmt::print("{}", nn::summary(model));

  optim::LocalOptimizer optimizer(model.parameters(), optim::AdamOptions{.lr = 0.01});
  for (int step = 1; step <= 500; ++step) {
    const Variable loss = cross_entropy(model(train.points), train.upper);
    optimizer.step(backward(loss));
    if (step % 100 == 0) fmt::print("step {}: loss {:.3f}\n", step, loss.item());
  }

  MoonNet copy(generator);  // what a checkpoint would hold
  nn::load_state_dict(copy, nn::state_dict(model));
  copy.eval();
  const NoGradGuard no_graph;
  const Tensor right = eq(argmax(copy(fresh.points).value(), 1), fresh.upper);
  fmt::print("{:.1f} % of 2000 new points found right\n", 100.0 * mean(right.to(DType::f64)).item());
}

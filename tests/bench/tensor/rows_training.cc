// Update rules, and whole training steps.
#include <array>
#include <memory>
#include <utility>

#include "autograd/engine.h"
#include "autograd/ops.h"
#include "autograd/ops/nn.h"
#include "optim/adam.h"
#include "optim/local_optimizer.h"
#include "optim/sgd.h"
#include "tensor/create.h"
#include "tests/bench/tensor/models.h"
#include "tests/bench/tensor/row.h"

namespace troupe::bench {
namespace {

constexpr std::int64_t kParameters = 25'000'000;

/// Forward, backward and update by SGD with momentum.
template <class Model>
Row training_step(const std::string& name, const Shape& images, std::int64_t classes) {
  return {name, "training step", [images, classes] {
            Generator generator(2);
            auto model = std::make_shared<Model>(generator);
            auto optimizer = std::make_shared<optim::LocalOptimizer>(model->parameters(),
                                                                     optim::SgdOptions{.lr = 1e-3, .momentum = 0.9});
            return [model, optimizer, x = Variable(randn(images, generator)),
                    target = randint(0, classes, {images[0]}, generator)] {
              optimizer->step(backward(cross_entropy(model->forward(x), target), {.graph = Graph::release}));
            };
          }};
}

}  // namespace

std::vector<Row> training_rows() {
  std::vector<Row> rows;
  rows.push_back({"adam/25M", "none",
                  [] {
                    Generator generator(1);
                    auto rule = std::make_shared<optim::Adam>(optim::AdamOptions{.lr = 1e-3});
                    return [rule, current = randn({kParameters}, generator), gradient = randn({kParameters}, generator),
                            next = zeros({kParameters})]() mutable {
                      const std::array updates{optim::ParameterUpdate{0, current, gradient, next}};
                      rule->step(updates);
                      std::swap(current, next);
                    };
                  },
                  true});
  rows.push_back(training_step<MnistNet>("train/mnist/32x1x28x28", {32, 1, 28, 28}, 10));
  rows.push_back(training_step<ResNet50>("train/resnet50/8x3x64x64", {8, 3, 64, 64}, 1000));
  return rows;
}

}  // namespace troupe::bench

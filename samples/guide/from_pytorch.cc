// Page 15 of the guide: a training loop as one knows it, and what is different.
#include <iostream>
#include <memory>

#include "samples/program.h"
#include "troupe.h"

using namespace troupe;

class Net final : public nn::Layer {
 public:
  explicit Net(Generator& generator)
      : fc1_(add_module("fc1", std::make_shared<nn::Linear>(2, 16, generator))),
        fc2_(add_module("fc2", std::make_shared<nn::Linear>(16, 1, generator))) {}
  Variable forward(const Variable& x) override { return fc2_->forward(tanh(fc1_->forward(x))); }

 private:
  std::shared_ptr<nn::Linear> fc1_, fc2_;
};

int run(int /*argc*/, char** /*argv*/) {
  Generator generator(1);  // torch.manual_seed(1), but an object
  Net model(generator);
  optim::LocalOptimizer optimizer(model.parameters(), optim::AdamOptions{.lr = 0.02});

  const Tensor x = uniform({64, 2}, -1.0, 1.0, generator);
  const Tensor y = x.slice(1, 0, 1) * x.slice(1, 1, 2);
  for (int epoch = 0; epoch < 300; ++epoch) {
    const Variable loss = mse_loss(model(x), y);
    const Gradients gradients = backward(loss);  // returned, not stored: there is no zero_grad
    optimizer.step(gradients);
  }
  NoGradGuard no_grad;
  const double loss = mse_loss(model(x), y).item();
  std::cout << "a product learned: " << (loss < 0.001 ? "yes" : "no") << ", parameters: " << model.parameters().size()
            << std::endl;
  return 0;
}

int main(int argc, char** argv) { return samples::run_program(run, argc, argv); }

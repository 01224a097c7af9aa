// The code that autograd/PYTORCH.md shows, compiled: pytorch_test.cc looks for each of its lines here.
#include <memory>

#include "troupe.h"

// NOLINTBEGIN: nothing here runs.
namespace troupe::testing {

Variable part(const Variable& x);

void gradients_of(Generator& generator, Gradients& sums) {
  const Variable w(randn({3, 2}, generator), RequiresGrad::yes);
  const HookHandle hook = w.register_hook([](const Tensor& g) { return g * 0.5; });
  const AnomalyGuard anomaly;
  const Variable loss = sum(w * w);
  const Gradients gradients = backward(loss);
  const Tensor of_w = gradients.of(w);
  sums.add(gradients);
  const Gradients to_w = backward(loss, {.inputs = {w}});
  const Gradients last = backward(loss, {.graph = Graph::release});
  const Variable constant = loss.detach();
  const Variable again = checkpoint(part, w);
  const NoGradGuard guard;
}

void tensors() {
  Generator generator(1);
  const Tensor x = from_values<float>({1, 2, 3, 4}, {2, 2});
  const Tensor order = permutation(10, generator);
  const Tensor there = x.to(Device::cuda());
  const Tensor wide = x.to(DType::f64);
  const Tensor rows = concat({x, x}, 0);
  const Tensor turned = transpose(x);
  const Tensor product = matmul(x, x);
  const Tensor largest = max(x, 1);
  const Tensor where_largest = argmax(x, 1);
  const Tensor quotient = div(x, x, Rounding::floor);
  const Tensor lines = x.unsqueeze(0);
  const Tensor filters = x.unsqueeze(1);
  const Tensor as_large = conv1d(lines, filters, {}, {.padding = kSame});
}

void training(const Variable& x, const Tensor& classes, Generator& generator) {
  const auto model = nn::sequential(std::make_shared<nn::Linear>(4, 8, generator), std::make_shared<nn::Relu>());
  const Variable loss = cross_entropy(model->forward(x), classes);
  optim::LocalOptimizer optimizer(model->parameters(), optim::SgdOptions{.lr = 0.1});
  optimizer.step(backward(loss));
  const Gradients gradients = backward(loss);
  optimizer.step(gradients, {.gradient_scale = optim::clip_scale(optim::global_norm(gradients), 1.0)});
  optimizer.step(gradients, {.gradient_limit = 0.5});
  const optim::OneCycle cycle({.max_lr = 0.1, .total_steps = 1000});
  optim::LrScheduler scheduler(optimizer, cycle.lr(), cycle.momentum());
  optimizer.step(gradients, {.gradient_scale = 1.0 / 1024.0});
  write_safetensors("model.safetensors", nn::state_dict(*model));
  nn::load_state_dict(*model, read_safetensors("model.safetensors").tensors);
}

}  // namespace troupe::testing
// NOLINTEND

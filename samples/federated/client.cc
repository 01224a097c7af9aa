#include "samples/federated/client.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "autograd/engine.h"
#include "autograd/ops.h"
#include "autograd/ops/loss.h"
#include "optim/local_optimizer.h"
#include "samples/parameter_server/glyphs.h"

namespace samples {

using troupe::Generator;
using troupe::Gradients;
using troupe::Tensor;
using troupe::Variable;
namespace nn = troupe::nn;
namespace optim = troupe::optim;

namespace {

constexpr std::int64_t kBatch = 32;
constexpr std::int64_t kPixels = 28 * 28;
constexpr double kRate = 0.05;
constexpr std::uint64_t kFirstClientSeed = 100;  // of its digits

/// Calls `compute()`, and returns its result with the seconds that it took.
template <class Compute>
Update timed(const Compute& compute) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Tensor> tensors = compute();
  return {std::move(tensors), std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
}

Gradients gradients(DigitMlp& net, const Batch& batch) {
  return backward(cross_entropy(net.forward(batch.images), batch.labels), {.graph = troupe::Graph::release});
}

}  // namespace

DigitMlp::DigitMlp(std::int64_t width, std::uint64_t seed) {
  Generator generator(seed);
  first_ = add_module("first", std::make_shared<nn::Linear>(kPixels, width, generator));
  second_ = add_module("second", std::make_shared<nn::Linear>(width, width, generator));
  scores_ = add_module("scores", std::make_shared<nn::Linear>(width, 10, generator));
}

Variable DigitMlp::forward(const Variable& images) {
  const Variable x = relu(first_->forward(flatten(images, 1)));
  return scores_->forward(relu(second_->forward(x)));
}

std::vector<Tensor> DigitMlp::weights() const {
  std::vector<Tensor> all;
  for (const Variable& parameter : parameters()) all.push_back(parameter.value());
  return all;
}

void DigitMlp::set_weights(const std::vector<Tensor>& weights) {
  const std::vector<Variable> all = parameters();
  for (std::size_t i = 0; i < all.size(); ++i) all[i].set_value(weights.at(i));
}

Client::Client(std::uint64_t number, std::int64_t width, std::int64_t examples)
    : net_(std::make_shared<DigitMlp>(width, number)) {
  const Digits digits = draw_glyphs(examples, kFirstClientSeed + number);
  for (std::int64_t first = 0; first < examples; first += kBatch) {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(std::min(kBatch, examples - first)));
    std::iota(rows.begin(), rows.end(), first);
    batches_.push_back(batch(digits, rows));
  }
}

Update Client::train(const std::vector<Tensor>& weights) {
  return timed([&] {
    net_->set_weights(weights);
    optim::LocalOptimizer optimizer(net_->parameters(), optim::SgdOptions{.lr = kRate});
    for (const Batch& batch : batches_) optimizer.step(gradients(*net_, batch));
    return net_->weights();
  });
}

Update Client::gradient(const std::vector<Tensor>& weights) {
  return timed([&] {
    net_->set_weights(weights);
    std::vector<Tensor> sums;
    std::int64_t examples = 0;
    for (const Batch& batch : batches_) {
      const Gradients all = gradients(*net_, batch);
      const auto count = static_cast<double>(batch.labels.numel());
      for (std::size_t i = 0; const Variable& parameter : net_->parameters()) {
        const Tensor part = all.of(parameter) * count;
        if (examples == 0) sums.push_back(part);
        else sums[i] = sums[i] + part;
        ++i;
      }
      examples += batch.labels.numel();
    }
    for (Tensor& sum : sums) sum = sum / static_cast<double>(examples);
    return sums;
  });
}

}  // namespace samples

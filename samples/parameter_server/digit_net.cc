#include "samples/parameter_server/digit_net.h"

#include "autograd/ops.h"
#include "autograd/ops/nn.h"

namespace samples {

using troupe::Generator;
using troupe::Tensor;
using troupe::Variable;
namespace nn = troupe::nn;

DigitNet::DigitNet(std::uint64_t seed) {
  Generator generator(seed);
  conv1_ = add_module("conv1", std::make_shared<nn::Conv2d>(1, 32, 3, generator));
  conv2_ = add_module("conv2", std::make_shared<nn::Conv2d>(32, 64, 3, generator));
  dropout1_ = add_module("dropout1", std::make_shared<nn::Dropout>(0.25, generator));
  dense1_ = add_module("dense1", std::make_shared<nn::Linear>(64 * 12 * 12, 128, generator));
  dropout2_ = add_module("dropout2", std::make_shared<nn::Dropout>(0.5, generator));
  dense2_ = add_module("dense2", std::make_shared<nn::Linear>(128, 10, generator));
}

Variable DigitNet::forward(const Tensor& images) { return scores(images, mode()); }

// The network is shared: its mode stays, for those who train it and for the time after an exception.
Tensor DigitNet::classify(const Tensor& images) {
  const troupe::NoGradGuard no_graph;
  return troupe::argmax(scores(images, nn::Mode::eval).value(), 1);
}

Variable DigitNet::scores(const Tensor& images, nn::Mode mode) {
  const auto dropped = [mode](nn::Dropout& dropout, const Variable& x) {
    return mode == nn::Mode::train ? dropout.forward(x) : x;
  };
  Variable x = relu(conv1_->forward(images));          // (n, 32, 26, 26)
  x = max_pool2d(relu(conv2_->forward(x)));            // (n, 64, 12, 12)
  x = flatten(dropped(*dropout1_, x), 1);              // (n, 9216)
  x = dropped(*dropout2_, relu(dense1_->forward(x)));  // (n, 128)
  return dense2_->forward(x);
}

}  // namespace samples

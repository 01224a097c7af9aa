#include "tests/bench/tensor/models.h"

#include <array>
#include <string>
#include <utility>

#include "autograd/ops.h"
#include "autograd/ops/nn.h"

namespace troupe::bench {
namespace {

std::shared_ptr<nn::Conv2d> convolution(std::int64_t inputs, std::int64_t outputs, std::int64_t kernel,
                                        std::int64_t stride, Generator& generator) {
  const std::int64_t padding = kernel / 2;
  return std::make_shared<nn::Conv2d>(inputs, outputs, kernel, generator,
                                      Conv2dOptions{.stride = {stride, stride}, .padding = {padding, padding}},
                                      nn::Bias::no);
}

}  // namespace

MnistNet::MnistNet(Generator& generator) {
  conv1_ = add_module("conv1", std::make_shared<nn::Conv2d>(1, 32, 3, generator));
  conv2_ = add_module("conv2", std::make_shared<nn::Conv2d>(32, 64, 3, generator));
  dropout1_ = add_module("dropout1", std::make_shared<nn::Dropout>(0.25, generator));
  dense1_ = add_module("fc1", std::make_shared<nn::Linear>(64 * 12 * 12, 128, generator));
  dropout2_ = add_module("dropout2", std::make_shared<nn::Dropout>(0.5, generator));
  dense2_ = add_module("fc2", std::make_shared<nn::Linear>(128, 10, generator));
}

Variable MnistNet::forward(const Variable& images) {
  Variable x = relu(conv1_->forward(images));         // (n, 32, 26, 26)
  x = max_pool2d(relu(conv2_->forward(x)));           // (n, 64, 12, 12)
  x = flatten(dropout1_->forward(x), 1);              // (n, 9216)
  x = dropout2_->forward(relu(dense1_->forward(x)));  // (n, 128)
  return dense2_->forward(x);
}

Bottleneck::Bottleneck(std::int64_t inputs, std::int64_t width, std::int64_t stride, Generator& generator) {
  const std::int64_t outputs = width * kExpansion;
  conv1_ = add_module("conv1", convolution(inputs, width, 1, 1, generator));
  norm1_ = add_module("bn1", std::make_shared<nn::BatchNorm2d>(width));
  conv2_ = add_module("conv2", convolution(width, width, 3, stride, generator));
  norm2_ = add_module("bn2", std::make_shared<nn::BatchNorm2d>(width));
  conv3_ = add_module("conv3", convolution(width, outputs, 1, 1, generator));
  norm3_ = add_module("bn3", std::make_shared<nn::BatchNorm2d>(outputs));
  if (stride == 1 && inputs == outputs) return;
  shortcut_ = add_module("downsample", convolution(inputs, outputs, 1, stride, generator));
  shortcut_norm_ = add_module("downsample_bn", std::make_shared<nn::BatchNorm2d>(outputs));
}

Variable Bottleneck::forward(const Variable& x) {
  Variable y = relu(norm1_->forward(conv1_->forward(x)));
  y = relu(norm2_->forward(conv2_->forward(y)));
  y = norm3_->forward(conv3_->forward(y));
  return relu(y + (shortcut_ ? shortcut_norm_->forward(shortcut_->forward(x)) : x));
}

ResNet50::ResNet50(Generator& generator) {
  conv_ = add_module("conv1", convolution(3, 64, 7, 2, generator));
  norm_ = add_module("bn1", std::make_shared<nn::BatchNorm2d>(64));
  constexpr std::array<std::int64_t, 4> kBlocks{3, 4, 6, 3};
  std::int64_t inputs = 64;
  for (std::size_t stage = 0; stage < kBlocks.size(); ++stage) {
    const std::int64_t width = std::int64_t{64} << stage;
    for (std::int64_t i = 0; i < kBlocks[stage]; ++i) {
      const std::int64_t stride = i == 0 && stage > 0 ? 2 : 1;
      const std::string name = "layer" + std::to_string(stage + 1) + "_" + std::to_string(i);
      blocks_.push_back(add_module(name, std::make_shared<Bottleneck>(inputs, width, stride, generator)));
      inputs = width * Bottleneck::kExpansion;
    }
  }
  classifier_ = add_module("fc", std::make_shared<nn::Linear>(inputs, 1000, generator));
}

Variable ResNet50::forward(const Variable& images) {
  Variable x = relu(norm_->forward(conv_->forward(images)));
  x = max_pool2d(x, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}});
  for (const auto& block : blocks_) x = block->forward(x);
  return classifier_->forward(mean(x, {2, 3}));
}

}  // namespace troupe::bench

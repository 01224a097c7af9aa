#include "tests/bench/train/models.h"

#include <string>

#include "autograd/ops.h"
#include "autograd/ops/nn.h"

namespace troupe::bench {
namespace {

constexpr double kDropped = 0.4;

std::shared_ptr<Bottleneck> first_block(std::int64_t inputs, std::int64_t width, Generator& generator) {
  return std::make_shared<Bottleneck>(inputs, width, width == 64 ? 1 : 2, generator);
}

std::shared_ptr<Bottleneck> further_block(std::int64_t width, Generator& generator) {
  return std::make_shared<Bottleneck>(width * Bottleneck::kExpansion, width, 1, generator);
}

}  // namespace

WordTable::WordTable(std::int64_t words, std::int64_t width, Generator& generator)
    : table_(add_module("table", std::make_shared<nn::Embedding>(words, width, generator))),
      dropout_(add_module("dropout", std::make_shared<nn::Dropout>(kDropped, generator))) {}

Variable WordTable::forward(const Variable& words) { return dropout_->forward(table_->forward(words)); }

Decoder::Decoder(std::int64_t hidden, std::int64_t words, Generator& generator)
    : dropout_(add_module("dropout", std::make_shared<nn::Dropout>(kDropped, generator))),
      scores_(add_module("scores", std::make_shared<nn::Linear>(hidden, words, generator))) {}

Variable Decoder::forward(const Variable& hidden) { return scores_->forward(dropout_->forward(hidden)); }

FirstHalf::FirstHalf(Generator& generator) {
  conv_ = add_module("conv",
                     std::make_shared<nn::Conv2d>(3, 64, Size2d{7, 7}, generator,
                                                  Conv2dOptions{.stride = {2, 2}, .padding = {3, 3}}, nn::Bias::no));
  norm_ = add_module("norm", std::make_shared<nn::BatchNorm2d>(64));
  blocks_.push_back(first_block(64, 64, generator));
  for (int i = 1; i < 3; ++i) blocks_.push_back(further_block(64, generator));
  blocks_.push_back(first_block(256, 128, generator));
  for (int i = 1; i < 4; ++i) blocks_.push_back(further_block(128, generator));
  for (std::size_t i = 0; i < blocks_.size(); ++i) add_module("block" + std::to_string(i), blocks_[i]);
}

Variable FirstHalf::forward(const Variable& images) {
  Variable x = relu(norm_->forward(conv_->forward(images)));
  x = max_pool2d(x, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}});
  for (const auto& block : blocks_) x = block->forward(x);
  return x;
}

SecondHalf::SecondHalf(std::int64_t classes, Generator& generator) {
  blocks_.push_back(first_block(512, 256, generator));
  for (int i = 1; i < 6; ++i) blocks_.push_back(further_block(256, generator));
  blocks_.push_back(first_block(1024, 512, generator));
  for (int i = 1; i < 3; ++i) blocks_.push_back(further_block(512, generator));
  for (std::size_t i = 0; i < blocks_.size(); ++i) add_module("block" + std::to_string(i), blocks_[i]);
  classifier_ = add_module("classifier", std::make_shared<nn::Linear>(2048, classes, generator));
}

Variable SecondHalf::forward(const Variable& features) {
  Variable x = features;
  for (const auto& block : blocks_) x = block->forward(x);
  return classifier_->forward(mean(x, {2, 3}));
}

}  // namespace troupe::bench

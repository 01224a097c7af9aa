#include "samples/pipeline/resnet.h"

#include "autograd/ops.h"
#include "autograd/ops/pool.h"

namespace samples {

using troupe::Generator;
using troupe::Variable;
namespace nn = troupe::nn;

namespace {

constexpr std::int64_t kExpansion = 4;  // a block's result has four times the channels of its middle

std::shared_ptr<nn::Conv2d> conv(std::int64_t from, std::int64_t to, std::int64_t kernel, std::int64_t stride,
                                 Generator& generator) {
  const troupe::Conv2dOptions options{.stride = stride, .padding = kernel / 2};
  return std::make_shared<nn::Conv2d>(from, to, kernel, generator, options, nn::Bias::no);
}

/// 1x1, 3x3 and 1x1 convolutions, with a way around them.
class Bottleneck final : public nn::Layer {
 public:
  Bottleneck(std::int64_t from, std::int64_t middle, std::int64_t stride, Generator& generator)
      : reduce_(add_module("reduce", conv(from, middle, 1, 1, generator))),
        reduce_norm_(add_module("reduce_norm", std::make_shared<nn::BatchNorm2d>(middle))),
        mix_(add_module("mix", conv(middle, middle, 3, stride, generator))),
        mix_norm_(add_module("mix_norm", std::make_shared<nn::BatchNorm2d>(middle))),
        expand_(add_module("expand", conv(middle, kExpansion * middle, 1, 1, generator))),
        expand_norm_(add_module("expand_norm", std::make_shared<nn::BatchNorm2d>(kExpansion * middle))) {
    if (stride == 1 && from == kExpansion * middle) return;
    around_ = add_module("around", nn::sequential(conv(from, kExpansion * middle, 1, stride, generator),
                                                  std::make_shared<nn::BatchNorm2d>(kExpansion * middle)));
  }

  [[nodiscard]] Variable forward(const Variable& x) override {
    Variable y = relu(reduce_norm_->forward(reduce_->forward(x)));
    y = relu(mix_norm_->forward(mix_->forward(y)));
    y = expand_norm_->forward(expand_->forward(y));
    return relu(y + (around_ ? around_->forward(x) : x));
  }

 private:
  std::shared_ptr<nn::Conv2d> reduce_;
  std::shared_ptr<nn::BatchNorm2d> reduce_norm_;
  std::shared_ptr<nn::Conv2d> mix_;
  std::shared_ptr<nn::BatchNorm2d> mix_norm_;
  std::shared_ptr<nn::Conv2d> expand_;
  std::shared_ptr<nn::BatchNorm2d> expand_norm_;
  std::shared_ptr<nn::Sequential> around_;  // null: the input itself
};

/// Appends a stage of `blocks` blocks; the first one has the stride.
void add_stage(nn::Sequential& stages, std::int64_t from, std::int64_t middle, int blocks, std::int64_t stride,
               Generator& generator) {
  stages.append(std::make_shared<Bottleneck>(from, middle, stride, generator));
  for (int i = 1; i < blocks; ++i) {
    stages.append(std::make_shared<Bottleneck>(kExpansion * middle, middle, 1, generator));
  }
}

}  // namespace

FirstHalf::FirstHalf(std::uint64_t seed) {
  Generator generator(seed);
  conv_ = add_module("conv", conv(3, 64, 7, 2, generator));
  norm_ = add_module("norm", std::make_shared<nn::BatchNorm2d>(64));
  stages_ = add_module("stages", std::make_shared<nn::Sequential>());
  add_stage(*stages_, 64, 64, 3, 1, generator);
  add_stage(*stages_, 256, 128, 4, 2, generator);
}

Variable FirstHalf::forward(const Variable& images) {
  const Variable x = relu(norm_->forward(conv_->forward(images)));
  return stages_->forward(max_pool2d(x, {.kernel = 3, .stride = 2, .padding = 1}));
}

SecondHalf::SecondHalf(std::uint64_t seed, std::int64_t classes) {
  Generator generator(seed);
  stages_ = add_module("stages", std::make_shared<nn::Sequential>());
  add_stage(*stages_, 512, 256, 6, 2, generator);
  add_stage(*stages_, 1024, 512, 3, 2, generator);
  classify_ = add_module("classify", std::make_shared<nn::Linear>(2048, classes, generator));
}

Variable SecondHalf::forward(const Variable& features) {
  return classify_->forward(flatten(adaptive_avg_pool2d(stages_->forward(features), {1, 1}), 1));
}

}  // namespace samples

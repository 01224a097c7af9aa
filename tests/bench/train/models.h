// The networks of the training benchmark, beside those of tests/bench/tensor/models.h. peer.py has the same ones.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "autograd/nn/conv.h"
#include "autograd/nn/dropout.h"
#include "autograd/nn/embedding.h"
#include "autograd/nn/linear.h"
#include "autograd/nn/module.h"
#include "autograd/nn/norm.h"
#include "tensor/generator.h"
#include "tests/bench/tensor/models.h"

namespace troupe::bench {

/// Word vectors with dropout: words S i64 -> S + (width).
class WordTable final : public nn::Layer {
 public:
  WordTable(std::int64_t words, std::int64_t width, Generator& generator);
  [[nodiscard]] Variable forward(const Variable& words) override;

 private:
  std::shared_ptr<nn::Embedding> table_;
  std::shared_ptr<nn::Dropout> dropout_;
};

/// Dropout and scores of all words: S + (hidden) -> S + (words).
class Decoder final : public nn::Layer {
 public:
  Decoder(std::int64_t hidden, std::int64_t words, Generator& generator);
  [[nodiscard]] Variable forward(const Variable& hidden) override;

 private:
  std::shared_ptr<nn::Dropout> dropout_;
  std::shared_ptr<nn::Linear> scores_;
};

/// ResNet-50 up to its second stage: images (n, 3, h, w) -> (n, 512, h / 8, w / 8).
class FirstHalf final : public nn::Layer {
 public:
  explicit FirstHalf(Generator& generator);
  [[nodiscard]] Variable forward(const Variable& images) override;

 private:
  std::shared_ptr<nn::Conv2d> conv_;
  std::shared_ptr<nn::BatchNorm2d> norm_;
  std::vector<std::shared_ptr<Bottleneck>> blocks_;
};

/// The rest of it: (n, 512, h, w) -> scores (n, classes).
class SecondHalf final : public nn::Layer {
 public:
  SecondHalf(std::int64_t classes, Generator& generator);
  [[nodiscard]] Variable forward(const Variable& features) override;

 private:
  std::vector<std::shared_ptr<Bottleneck>> blocks_;
  std::shared_ptr<nn::Linear> classifier_;
};

}  // namespace troupe::bench

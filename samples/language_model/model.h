// The parts of the language model that live on the server.
#pragma once

#include <cstdint>
#include <memory>

#include "autograd/nn/dropout.h"
#include "autograd/nn/embedding.h"
#include "autograd/nn/linear.h"
#include "autograd/nn/module.h"

namespace samples {

inline constexpr std::int64_t kWidth = 64;    ///< of a word's vector
inline constexpr std::int64_t kHidden = 128;  ///< of the LSTM's state
inline constexpr double kDropped = 0.4;

/// A vector for each word. One thread at a time: dropout draws random numbers.
class WordTable final : public troupe::nn::Layer {
 public:
  /// Equal seeds give equal first values and draws.
  WordTable(std::int64_t words, std::uint64_t seed);

  /// Shapes: words S i64 -> S + (kWidth).
  [[nodiscard]] troupe::Variable forward(const troupe::Variable& words) override;

 private:
  std::shared_ptr<troupe::nn::Embedding> table_;
  std::shared_ptr<troupe::nn::Dropout> dropout_;
};

/// Scores of all words, out of the LSTM's state. One thread at a time: dropout draws random numbers.
class Decoder final : public troupe::nn::Layer {
 public:
  Decoder(std::int64_t words, std::uint64_t seed);

  /// Shapes: hidden S + (kHidden) f32 -> S + (words).
  [[nodiscard]] troupe::Variable forward(const troupe::Variable& hidden) override;

 private:
  std::shared_ptr<troupe::nn::Dropout> dropout_;
  std::shared_ptr<troupe::nn::Linear> scores_;
};

}  // namespace samples

// A model in two places: word vectors and decoder on the server, what is between them on the trainer.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "actors/remote_module.h"
#include "autograd/nn/dropout.h"
#include "autograd/nn/embedding.h"
#include "autograd/nn/linear.h"
#include "autograd/nn/module.h"

namespace samples {

/// Guesses a word from the two before it. Source: Bengio et al., "A neural probabilistic language model", 2003.
/// One thread at a time.
class LanguageModel final : public troupe::nn::Module {
 public:
  static constexpr std::int64_t kContext = 2;  ///< words that are seen before one is guessed

  /// Makes two of its parts on the server. For a vocabulary of `words`.
  LanguageModel(const troupe::Scope& scope, std::int64_t words, troupe::Generator& generator);

  /// Scores of all words as the next. Shapes: words (n, kContext) i64 -> (n, number of words).
  [[nodiscard]] troupe::Variable forward(const troupe::Scope& scope, const troupe::Tensor& words);

  /// Those on the server, then those here.
  [[nodiscard]] std::vector<troupe::RRef<troupe::Variable>> all_parameters(const troupe::Scope& scope) const;

 private:
  troupe::RemoteModule<troupe::nn::Embedding> table_;
  std::shared_ptr<troupe::nn::Linear> hidden_;
  std::shared_ptr<troupe::nn::Dropout> dropout_;
  troupe::RemoteModule<troupe::nn::Linear> decoder_;
};

}  // namespace samples

#include "samples/language_model/evaluate.h"

#include <cmath>

#include "samples/language_model/writing.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tensor/ops/nn.h"

namespace samples {

using troupe::from_values;
using troupe::Generator;
using troupe::NoGradGuard;
using troupe::Reduction;
using troupe::Scope;
using troupe::Tensor;

double perplexity(const Scope& scope, LanguageModel& model, const Windows& text) {
  const NoGradGuard no_graph;
  model.eval();
  constexpr std::int64_t kAtOnce = 256;
  double sum = 0;
  for (std::int64_t first = 0; first < text.count(); first += kAtOnce) {
    const Tensor scores = model.forward(scope, text.words.slice(0, first, first + kAtOnce)).value();
    sum += nll_loss(log_softmax(scores), text.next.slice(0, first, first + kAtOnce), Reduction::sum).item();
  }
  model.train();
  return std::exp(sum / static_cast<double>(text.count()));
}

std::string generate(const Scope& scope, LanguageModel& model, const Corpus& corpus, std::vector<std::int64_t> tokens,
                     int count, Generator& random) {
  const NoGradGuard no_graph;
  model.eval();
  std::vector<std::string> words;
  for (int i = 0; i < count; ++i) {
    const std::span last = std::span(tokens).last(LanguageModel::kContext);
    const Tensor scores = model.forward(scope, from_values<std::int64_t>(last, {1, LanguageModel::kContext})).value();
    tokens.push_back(draw(scores.select(0, 0), Corpus::kUnknown, random));
    words.push_back(corpus.vocabulary[static_cast<std::size_t>(tokens.back())]);
  }
  model.train();
  return written(words);
}

}  // namespace samples

#include "samples/language_model/model.h"

#include <utility>

#include "autograd/ops.h"
#include "samples/language_model/served.h"

namespace samples {

using troupe::Generator;
using troupe::RRef;
using troupe::Scope;
using troupe::Tensor;
using troupe::Variable;
namespace nn = troupe::nn;

namespace {

constexpr std::int64_t kWidth = 32;  // of a word's vector
constexpr std::int64_t kHidden = 64;
constexpr double kDropped = 0.3;

}  // namespace

LanguageModel::LanguageModel(const Scope& scope, std::int64_t words, troupe::Generator& generator)
    : table_(scope, kServer, word_table, words, kWidth, Generator(generator.next_u64())),
      hidden_(add_module("hidden", std::make_shared<nn::Linear>(kContext * kWidth, kHidden, generator))),
      dropout_(add_module("dropout", std::make_shared<nn::Dropout>(kDropped, generator))),
      decoder_(scope, kServer, decoder, kHidden, words, Generator(generator.next_u64())) {}

Variable LanguageModel::forward(const Scope& scope, const Tensor& words) {
  const Variable vectors = table_.forward(scope, words);
  const Variable hidden = dropout_->forward(tanh(hidden_->forward(flatten(vectors, 1))));
  return decoder_.forward(scope, hidden);
}

std::vector<RRef<Variable>> LanguageModel::all_parameters(const Scope& scope) const {
  auto all = table_.remote_parameters(scope);
  for (auto& parameter : decoder_.remote_parameters(scope)) all.push_back(std::move(parameter));
  for (auto& parameter : parameters_of(scope, *this)) all.push_back(std::move(parameter));
  return all;
}

}  // namespace samples

#include "samples/language_model/model.h"

#include "autograd/ops.h"
#include "samples/language_model/served.h"

namespace samples {

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
    : table_(scope.remote(kServer, &make_table, words, kWidth, generator.next_u64())),
      hidden_(add_module("hidden", std::make_shared<nn::Linear>(kContext * kWidth, kHidden, generator))),
      dropout_(add_module("dropout", std::make_shared<nn::Dropout>(kDropped, generator))),
      decoder_(scope.remote(kServer, &make_decoder, kHidden, words, generator.next_u64())) {}

Variable LanguageModel::forward(const Scope& scope, const Tensor& words) {
  const Variable vectors = table_.rpc_sync(scope, &nn::Embedding::forward, words);
  const Variable hidden = dropout_->forward(tanh(hidden_->forward(flatten(vectors, 1))));
  return decoder_.rpc_sync(scope, &nn::Linear::forward, hidden);
}

std::vector<RRef<Variable>> LanguageModel::all_parameters(const Scope& scope) const {
  auto all = scope.rpc_sync(kServer, &parameters_of<nn::Embedding>, table_);
  for (const auto& parameter : scope.rpc_sync(kServer, &parameters_of<nn::Linear>, decoder_)) all.push_back(parameter);
  for (const Variable& parameter : parameters()) all.emplace_back(scope, parameter);
  return all;
}

}  // namespace samples

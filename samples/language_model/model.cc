#include "samples/language_model/model.h"

namespace samples {

using troupe::Generator;
using troupe::Variable;
namespace nn = troupe::nn;

WordTable::WordTable(std::int64_t words, std::uint64_t seed) {
  Generator generator(seed);
  table_ = add_module("table", std::make_shared<nn::Embedding>(words, kWidth, generator));
  dropout_ = add_module("dropout", std::make_shared<nn::Dropout>(kDropped, generator));
}

Variable WordTable::forward(const Variable& words) { return dropout_->forward(table_->forward(words)); }

Decoder::Decoder(std::int64_t words, std::uint64_t seed) {
  Generator generator(seed);
  dropout_ = add_module("dropout", std::make_shared<nn::Dropout>(kDropped, generator));
  scores_ = add_module("scores", std::make_shared<nn::Linear>(kHidden, words, generator));
}

Variable Decoder::forward(const Variable& hidden) { return scores_->forward(dropout_->forward(hidden)); }

}  // namespace samples

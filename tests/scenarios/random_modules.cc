#include "tests/scenarios/random_modules.h"

#include <utility>

#include "autograd/ops.h"
#include "node/gloo_collective.h"
#include "tensor/create.h"
#include "tensor/generator.h"

namespace troupe::testing {

NumberLayer::NumberLayer(std::uint64_t seed, DType dtype) {
  Generator generator(seed);
  weight_ = add_parameter("weight", uniform({1}, -1.0, 1.0, generator, dtype));
  bias_ = add_parameter("bias", uniform({1}, -1.0, 1.0, generator, dtype));
}

Variable NumberLayer::forward(const Variable& x) { return tanh(x * weight_ + bias_); }

ParallelLayer::ParallelLayer(std::uint64_t seed, DType dtype)
    : layer_(add_module("layer", std::make_shared<NumberLayer>(seed, dtype))) {}

ParallelLayer::ParallelLayer(const Scope& scope, const std::vector<NodeName>& members, std::uint64_t seed, DType dtype)
    : ParallelLayer(seed, dtype) {
  replica_.emplace(scope, gloo_collective(scope, Group(members)), layer_);
}

Variable ParallelLayer::forward(Scope& scope, const Variable& x) {
  return replica_ ? replica_->forward(scope, x) : layer_->forward(x);
}

ParallelLayer make_parallel_layer(Scope& scope, const std::vector<NodeName>& members, std::uint64_t seed, DType dtype) {
  return members.empty() ? ParallelLayer(seed, dtype) : ParallelLayer(scope, members, seed, dtype);
}

Pipeline<> RandomModules::pipeline(const Scope& scope, const std::vector<std::size_t>& numbers, bool with_parallel,
                                   const PipelineOptions& options) const {
  std::vector<PipelineStage> stages;
  for (const std::size_t number : numbers) stages.emplace_back(layers.at(number));
  if (with_parallel) stages.emplace_back(parallel);
  return {scope, std::move(stages), uses_options ? options : PipelineOptions()};
}

Variable loss_of_squares(const Variable& x) { return mean(x * x); }

FunctionRegistry with_random_modules(const FunctionRegistry& functions) {
  return functions.with({{"NumberLayer", number_layer},
                         {"ParallelLayer", parallel_layer},
                         {"make_parallel_layer", &make_parallel_layer},
                         {"loss_of_squares", &loss_of_squares}});
}

}  // namespace troupe::testing

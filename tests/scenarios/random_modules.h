// The modules of random programs, where each of them may be: on any node, as a stage of a pipeline, as a replica.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "actors/data_parallel.h"
#include "actors/function_registry.h"
#include "actors/pipeline.h"
#include "autograd/nn/module.h"

namespace troupe::testing {

/// y = tanh(x w + b) with numbers w and b: any part of x gives its part of y.
class NumberLayer final : public nn::Module {
 public:
  NumberLayer(std::uint64_t seed, DType dtype);
  [[nodiscard]] Variable forward(const Variable& x);

 private:
  Variable weight_;
  Variable bias_;
};

/// A NumberLayer, alone or as a member of a group of replicas.
class ParallelLayer final : public nn::Module {
 public:
  ParallelLayer(std::uint64_t seed, DType dtype);
  ParallelLayer(const Scope& scope, const std::vector<NodeName>& members, std::uint64_t seed, DType dtype);
  [[nodiscard]] Variable forward(Scope& scope, const Variable& x);

 private:
  std::shared_ptr<NumberLayer> layer_;
  std::optional<DataParallel<NumberLayer>> replica_;
};
/// Alone if there are no members.
ParallelLayer make_parallel_layer(Scope& scope, const std::vector<NodeName>& members, std::uint64_t seed, DType dtype);

inline constexpr auto number_layer = stage_class<NumberLayer, std::uint64_t, DType>;
inline constexpr auto parallel_layer = stage_class<ParallelLayer, std::uint64_t, DType>;

/// What a program and the functions that it calls use.
struct RandomModules {
  std::vector<RemoteModule<NumberLayer>> layers;
  RemoteModule<ParallelLayer> parallel;  ///< on the program's node
  bool uses_options = false;             ///< of pipelines; else each has those of default
  template <class Archive>
  void serialize(Archive& archive) {
    archive(layers, parallel, uses_options);
  }

  /// Returns a pipeline of the layers with these numbers, and of the parallel layer at the end.
  /// REQUIRES: options.recompute is `never` with the parallel layer.
  [[nodiscard]] Pipeline<> pipeline(const Scope& scope, const std::vector<std::size_t>& numbers, bool with_parallel,
                                    const PipelineOptions& options) const;
};

/// The mean of the squares: a loss of pipelines.
Variable loss_of_squares(const Variable& x);

[[nodiscard]] FunctionRegistry with_random_modules(const FunctionRegistry& functions);

}  // namespace troupe::testing

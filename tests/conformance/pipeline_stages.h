// Stages and batches that several tests of pipelines use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensor/create.h"
#include "tests/conformance/pipeline_functions.h"

namespace troupe::testing {

inline constexpr std::int64_t kStageInputs = 5;
inline constexpr std::int64_t kStageWidth = 7;
inline constexpr std::int64_t kStageOutputs = 3;

/// How the stages are made: equal numbers give equal first values.
struct StagesPlan {
  bool norm = false;
  double drops = 0.0;
};

inline std::vector<RemoteModule<DenseStage>> make_stages(const Scope& scope, const std::vector<NodeName>& nodes,
                                                         const StagesPlan& plan = {}) {
  std::vector<RemoteModule<DenseStage>> stages;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    stages.emplace_back(scope, nodes[i], dense_stage, i == 0 ? kStageInputs : kStageWidth,
                        i + 1 == nodes.size() ? kStageOutputs : kStageWidth, plan.norm, plan.drops, 10 + i);
  }
  return stages;
}

inline std::vector<PipelineStage> as_stages(const std::vector<RemoteModule<DenseStage>>& modules) {
  return {modules.begin(), modules.end()};
}

/// Inputs and targets.
struct PipelineBatch {
  explicit PipelineBatch(std::int64_t rows, std::uint64_t seed = 3) {
    Generator generator(seed);
    x = randn({rows, kStageInputs}, generator);
    y = randn({rows, kStageOutputs}, generator);
  }
  Tensor x;
  Tensor y;
};

/// Stages of which number `faulty` has a fault at its forward of micro-batch `at`.
inline std::vector<PipelineStage> stages_with(const Scope& scope, const std::vector<NodeName>& nodes,
                                              std::size_t faulty, Fault fault, std::int64_t at) {
  std::vector<PipelineStage> stages;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    stages.emplace_back(
        RemoteModule(scope, nodes[i], faulty_stage, std::int64_t{4}, i == faulty ? fault : Fault::none, at));
  }
  return stages;
}

}  // namespace troupe::testing

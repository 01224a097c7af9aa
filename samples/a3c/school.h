// A learner and its players on several nodes.
#pragma once

#include <cstdint>
#include <vector>

#include "actors/function_registry.h"
#include "node/node.h"
#include "samples/a3c/learner.h"

namespace samples {

/// How a course ended.
struct Graduation {
  Standing standing;
  std::vector<troupe::Tensor> weights;
};

/// Functions of all nodes.
[[nodiscard]] troupe::FunctionRegistry school_functions();

/// Has a player on each of `players` learn with a learner on this node, all at the same time.
[[nodiscard]] Graduation learn(const troupe::Node& node, const std::vector<troupe::NodeName>& players,
                               std::uint64_t seed, std::int64_t lessons_max);

/// The same with one player in this process, without nodes.
[[nodiscard]] Graduation learn_here(std::uint64_t seed, std::int64_t lessons_max);

}  // namespace samples

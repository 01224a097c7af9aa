// A learner and its players on several nodes.
#pragma once

#include <cstdint>
#include <vector>

#include "actors/function_registry.h"
#include "node/node.h"
#include "samples/a3c/learner.h"
#include "samples/saves.h"

namespace samples {

/// How a course ended.
struct Graduation {
  Standing standing;
  std::vector<troupe::Tensor> weights;
};

/// What a course is like.
struct CourseSettings {
  std::uint64_t seed = 1;             ///< of the networks, the carts and the draws
  std::int64_t lessons_max = 12'000;  ///< at most so many
  SaveOptions saves{};                ///< on the learner's node, after each term
};

/// Functions of all nodes.
[[nodiscard]] troupe::FunctionRegistry school_functions();

/// The lessons of a term. If the course is saved, its players stop after each term, and go on with the next.
inline constexpr std::int64_t kTerm = 200;

/// Has a player on each of `players` learn with a learner on this node, all at the same time. Prints when it has saved.
/// Throws as SaveOptions::restore and save.
[[nodiscard]] Graduation learn(const troupe::Node& node, const std::vector<troupe::NodeName>& players,
                               const CourseSettings& settings);

/// The same with one player in this process, without nodes.
[[nodiscard]] Graduation learn_here(std::uint64_t seed, std::int64_t lessons_max);

}  // namespace samples

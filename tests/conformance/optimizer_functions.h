// Trainers on other nodes, for the tests of optimizers.
#pragma once

#include <cstdint>
#include <vector>

#include "actors/dist_optimizer.h"
#include "tests/conformance/gradient_functions.h"
#include "tests/conformance/test_functions.h"

namespace troupe::testing {

/// Returns sum(tanh(x * leaf) * 3, and so on for each leaf), each product computed by its owner.
Variable through_leaves(const Scope& scope, const Tensor& x, const std::vector<Leaf>& leaves);

/// Gives the leaf its value in another dtype.
void convert_leaf(Scope& scope, const Leaf& leaf, DType dtype);

/// Takes `steps` steps with a handle of its own. Returns how many were applied.
std::int32_t train_shared(Scope& scope, const SharedOptimizer& shared, const std::vector<Leaf>& leaves, const Tensor& x,
                          std::int32_t steps);

/// The same on node `next`, to which it passes on what it got, or a share of its own handle.
std::int32_t train_shared_at(Scope& scope, const NodeName& next, const SharedOptimizer& shared,
                             const std::vector<Leaf>& leaves, const Tensor& x, std::int32_t steps);
std::int32_t train_reshared_at(Scope& scope, const NodeName& next, const SharedOptimizer& shared,
                               const std::vector<Leaf>& leaves, const Tensor& x, std::int32_t steps);

[[nodiscard]] FunctionRegistry with_optimizer_functions(const FunctionRegistry& functions);

}  // namespace troupe::testing

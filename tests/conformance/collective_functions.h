// Functions that the nodes of conformance tests serve for collectives.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "actors/function_registry.h"
#include "actors/scope.h"

namespace troupe::testing {

/// Forms a collective of `members` first. Then, `rounds` times, sums over it, calls the next member in every way, and
/// broadcasts the fetched value. Returns all values that it saw.
std::vector<double> interleave(Scope& scope, const std::vector<NodeName>& members, std::int32_t rounds);

/// Forms a collective of `members`, then calls each of `asked`, then sums `own` over the collective, all within 10 s.
double sum_after_calls(Scope& scope, const std::vector<NodeName>& members, const std::vector<NodeName>& asked,
                       double own);

/// Forms a collective of `members` and sums over it until that fails. Returns code and peer of the error:
/// "peer_down p2".
std::string sum_until_failure(Scope& scope, const std::vector<NodeName>& members);

[[nodiscard]] FunctionRegistry with_collective_functions(const FunctionRegistry& functions);

}  // namespace troupe::testing

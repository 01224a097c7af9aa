// Programs whose graphs span the nodes of a ContextWorld, and their gradients.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/actors/contexts/context_world.h"

namespace troupe::testing::programs {

using Place = ContextWorld::Place;
using Values = ContextWorld::Values;

/// Builds a graph and begins a pass over it.
using Program = std::function<std::shared_ptr<ContextWorld::Answer>(ContextWorld&, Place&)>;

std::shared_ptr<ContextWorld::Answer> chain(ContextWorld& world, Place& here);
std::shared_ptr<ContextWorld::Answer> diamond(ContextWorld& world, Place& here);
std::shared_ptr<ContextWorld::Answer> there_and_back(ContextWorld& world, Place& here);
std::shared_ptr<ContextWorld::Answer> unused_result(ContextWorld& world, Place& here);
std::shared_ptr<ContextWorld::Answer> two_roots(ContextWorld& world, Place& here);
/// One variable used twice on each of two callees and once here.
std::shared_ptr<ContextWorld::Answer> many_uses(ContextWorld& world, Place& here);

/// Calls between three nodes, two deep, and operations on what they get, all chosen by `choices`; some results are
/// unused.
Program random_graph(std::uint64_t choices);

struct ProgramShape {
  const char* name;
  Program program;
};
/// Returns all of the above but the random ones.
[[nodiscard]] const std::vector<ProgramShape>& shapes();

/// Returns the gradients of a program, by label. The test fails if its pass does not succeed.
[[nodiscard]] std::map<std::string, Tensor> gradients_of(const Program& program, Placement placement,
                                                         std::uint64_t seed, int copies = 1, bool tells_routes = true);

void check_same_bits(const std::map<std::string, Tensor>& got, const std::map<std::string, Tensor>& expected);

}  // namespace troupe::testing::programs

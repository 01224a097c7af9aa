// How a function of a killed node ends.
#pragma once

namespace troupe::sim {

/// Thrown out of every wait on a node that the world has killed. Not a std::exception, so that a function does not take
/// it for a failure that it should handle; one that swallows it all the same meets it again at its next wait.
struct NodeKilled {};

}  // namespace troupe::sim

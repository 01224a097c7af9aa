// How a function of a killed node ends.
#pragma once

namespace troupe::sim {

/// Thrown by every wait on a node that the world has killed. Not a std::exception, so that a function does not handle
/// it as a failure; a function that swallows it gets it again at its next wait.
struct NodeKilled {};

}  // namespace troupe::sim

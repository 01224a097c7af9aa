// A cluster whose nodes join, leave and return while their programs use everything at once: references, contexts,
// optimizers, copies, large and small calls. Nodes are complete. A seed schedules their links, clocks, actors and
// functions, so that small messages overtake large calls and nodes die at every point. The same seed drives the
// programs' choices.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace troupe::testing {

/// Sums over many worlds, which show that the intended cases occurred.
struct GlueSeen {
  std::uint64_t steps = 0;
  std::uint64_t lives = 0;  ///< lives of nodes
  std::uint64_t killed = 0;
  std::uint64_t killed_leaving = 0;  ///< of these, during their shutdown
  std::uint64_t stopped = 0;         ///< nodes that left while the others and their own programs continued
  std::uint64_t came_back = 0;       ///< lives admitted after a former one of their name
  std::uint64_t refused = 0;         ///< lives not admitted because their seed left
  std::uint64_t too_late = 0;        ///< lives not admitted because the others were about to leave
  std::uint64_t reordered = 0;       ///< packets that arrived after a later packet
  std::uint64_t gradients = 0;       ///< gradients compared
  std::uint64_t steps_taken = 0;     ///< optimizer steps
  std::uint64_t undisturbed = 0;     ///< requests that ended before any life had been killed, stopped or refused
  std::map<std::string, std::uint64_t> ends = {};  ///< outcomes of the programs' requests, by error
};

/// Runs the world of that seed. Fails the test, and prints the seed and the last steps, if anything hangs, remains
/// after its end, runs twice, or ends with an error that no death explains.
void play_glue(std::uint64_t seed, GlueSeen& seen);

}  // namespace troupe::testing

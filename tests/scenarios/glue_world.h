// A cluster whose nodes come, go and come back while their programs use everything at once: references, contexts,
// optimizers, copies, large and small calls. Nodes are whole; their links, clocks, actors and functions take turns as a
// seed decides, so small words overtake large calls and everything meets every death. Programs draw what they do from
// the same seed.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace troupe::testing {

/// Summed over many worlds, to see that they are about what they say.
struct GlueSeen {
  std::uint64_t steps = 0;
  std::uint64_t lives = 0;  ///< of nodes
  std::uint64_t killed = 0;
  std::uint64_t stopped = 0;      ///< while others and their own programs went on
  std::uint64_t came_back = 0;    ///< lives that were let in after a former one of their name
  std::uint64_t refused = 0;      ///< lives that were not let in: their seed went
  std::uint64_t too_late = 0;     ///< lives that came when the others were about to leave, and were not let in
  std::uint64_t reordered = 0;    ///< packets that arrived after one that was sent later
  std::uint64_t gradients = 0;    ///< that were compared
  std::uint64_t steps_taken = 0;  ///< of optimizers
  std::map<std::string, std::uint64_t> ends = {};  ///< how what programs asked for ended, by error
};

/// Plays the world of that seed. Fails the test, and prints the seed and the last steps, if anything hangs, is left
/// over when it should be gone, runs twice, or ends with an error that no death explains.
void play_glue(std::uint64_t seed, GlueSeen& seen);

}  // namespace troupe::testing

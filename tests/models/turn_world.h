// Model of one value and its users: a TurnQueue with its owner's part, joined to callers by a bag of messages. Uses of
// one caller keep their order, as their key in the session requires. Cancels, answers and all other messages arrive in
// any order. Explores every order of deliveries, steps, waits, cancels and deaths, and checks TQ-1 to TQ-4 in each
// state.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::testing {

/// A function that a caller runs on the value. It performs its waits in order, then ends.
struct TurnUse {
  char caller = 'A';
  std::string waits = {};  ///< '.': an event at some time; a letter: a call to that node, which uses the value
  bool cancelled = false;  ///< its caller may cancel it at any time
};

struct TurnScript {
  std::vector<TurnUse> uses = {};  ///< each caller sends its own in this order
  bool value_is_late = false;      ///< true: the value arrives at any time; false: it exists from the start
  std::string crashable = {};      ///< callers of which one may crash, at any point
};

/// Results of an exploration. Tests assert that the cases they are about occurred.
struct TurnExploration {
  std::uint64_t states = 0;
  std::uint64_t ends = 0;           ///< states where no event comes of itself
  std::uint64_t early_cancels = 0;  ///< cancels that overtook their use
  std::uint64_t overtaken = 0;      ///< uses that arrived before an earlier use of another caller
  std::uint64_t went_on_first = 0;  ///< turns given to a use that had begun while others waited to begin
  std::uint64_t given_up = 0;       ///< uses that never began
};

/// Explores all orders. Throws std::runtime_error with the preceding events if a rule is broken.
[[nodiscard]] TurnExploration explore(const TurnScript& script);

}  // namespace troupe::testing

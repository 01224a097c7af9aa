// One value and its users in miniature: a TurnQueue and what its owner does around it, joined to callers by a bag of
// messages. Uses of one caller keep their order, as their key in the session has it; cancels, answers and all else come
// in any order. Explores every order of deliveries, steps, waits, cancels and deaths, and checks TQ-1 to TQ-4 in each
// state.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::testing {

/// A function that a caller runs on the value. It does its waits one after the other, then it ends.
struct TurnUse {
  char caller = 'A';
  std::string waits =
      {};  ///< '.': for something that ends at some time; a letter: for a call to that node, which uses the value
  bool cancelled = false;  ///< its caller gives it up at some time, perhaps
};

struct TurnScript {
  std::vector<TurnUse> uses = {};  ///< each caller sends its own in this order
  bool value_is_late = false;      ///< the value comes at any time; otherwise it is there
  std::string crashable = {};      ///< of these callers one may crash, at any point
};

/// What an exploration saw; the tests assert that the cases it is about did occur.
struct TurnExploration {
  std::uint64_t states = 0;
  std::uint64_t ends = 0;           ///< states in which nothing can happen any more
  std::uint64_t early_cancels = 0;  ///< cancels that overtook their use
  std::uint64_t overtaken = 0;      ///< uses that came before one of another caller that was sent earlier
  std::uint64_t went_on_first = 0;  ///< turns that went to a use that had begun while others waited to begin
  std::uint64_t given_up = 0;       ///< uses that never began
};

/// Explores all orders; throws std::runtime_error, with the events that led there, where a rule is broken.
[[nodiscard]] TurnExploration explore(const TurnScript& script);

}  // namespace troupe::testing

// Model of members that work, get ready and leave together: one ShutdownAgreement each, joined by a bag of messages
// that are delivered in any order, like messages in different lanes. Explores every order of deliveries, steps of work,
// deaths, newcomers and refused counts, and checks MB-1 whenever a member agrees.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::testing {

/// A function that runs on the first node of `path` and calls the next node to run the rest. On the last node it only
/// ends.
struct LeavingWork {
  std::string path = {};
  bool waits = true;  ///< whether each call waits for its answer; else its function goes on at once (`remote`)
};

/// The explored script. Every member gets ready at some point, also while work is running. A member that has agreed
/// leaves.
struct LeavingScript {
  std::string members = {};
  std::vector<LeavingWork> works = {};
  std::string crashable = {};    ///< members of which one may crash, at any point
  bool returns = false;          ///< the crashed member may return as a new life
  std::string newcomer = {};     ///< a member that joins at any point
  int refusals = 0;              ///< number of counts that members may refuse
  std::string have_called = {};  ///< one letter per earlier request: that member made a request that has ended
  std::uint64_t rounds_max = 3;  ///< limit while work is running; unlimited afterwards
};

/// Results of an exploration. Tests assert that the cases they are about occurred.
struct LeavingExploration {
  std::uint64_t states = 0;
  std::uint64_t ends = 0;  ///< states where no event comes of itself
  std::uint64_t agreements = 0;
  std::uint64_t taken_over = 0;    ///< agreements after the first member was gone
  std::uint64_t overtaken = 0;     ///< idle members counted while an earlier call of the counting member was in flight
  std::uint64_t idle_in_vain = 0;  ///< rounds that found no member active although something was under way
  std::uint64_t late_counts = 0;   ///< counts that arrived after the end of their round
};

/// Explores all orders. Throws std::runtime_error with the preceding events if the rule is broken.
[[nodiscard]] LeavingExploration explore(const LeavingScript& script);

}  // namespace troupe::testing

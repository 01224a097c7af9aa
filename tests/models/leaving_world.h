// Members that work, get ready and leave together, in miniature: a ShutdownAgreement each, joined by a bag of messages
// that are delivered in any order, as words in different lanes are. Explores every order of deliveries, of steps of the
// work, of deaths, newcomers and refused counts, and checks MB-1 whenever somebody agrees.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::testing {

/// A function runs on the first node of `path` and makes the next node run the rest; on the last one it only ends.
struct LeavingWork {
  std::string path = {};
  bool waits =
      true;  ///< each call waits for its answer; otherwise it is answered at once, and its function goes on (`remote`)
};

/// What is explored. Every member gets ready at some point, whatever still runs; who has agreed leaves.
struct LeavingScript {
  std::string members = {};
  std::vector<LeavingWork> works = {};
  std::string crashable = {};    ///< of these one may crash, at any point,
  bool returns = false;          ///< and come back as a new life
  std::string newcomer = {};     ///< comes up at any point
  int refusals = 0;              ///< counts that a member may refuse
  std::string have_called = {};  ///< each letter: that member has made one request before, which has ended
  std::uint64_t rounds_max = 3;  ///< while anything is under way; then as many as it takes
};

/// What an exploration saw; the tests assert that the cases it is about did occur.
struct LeavingExploration {
  std::uint64_t states = 0;
  std::uint64_t ends = 0;  ///< states in which nothing can happen any more
  std::uint64_t agreements = 0;
  std::uint64_t taken_over = 0;  ///< agreements where the first member was gone
  std::uint64_t overtaken =
      0;  ///< idle members that were counted while an earlier call of the one that counts was on its way to them
  std::uint64_t idle_in_vain = 0;  ///< rounds that found nobody active while something was under way
  std::uint64_t late_counts = 0;   ///< counts that came when their round was over
};

/// Explores all orders; throws std::runtime_error, with the events that led there, where the rule is broken.
[[nodiscard]] LeavingExploration explore(const LeavingScript& script);

}  // namespace troupe::testing

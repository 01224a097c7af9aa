// Model of one backward pass over a graph on a few nodes: BackwardTrackers joined by a bag of messages that are
// delivered in any order. Explores every order of deliveries, duplicates and deaths, and checks the invariants BW-1 to
// BW-6 and BW-9.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace troupe::testing {

/// A boundary of the model graph. Its RecvFn is on `recv`, its SendFn on `send`. The gradient travels from `recv` to
/// `send`.
struct ModelBoundary {
  char name = '1';
  char recv = 'A';
  char send = 'B';
  /// What reaches the RecvFn on `recv`: names of boundaries whose SendFn is there, or '*' for the node's roots.
  std::string reached_from;
};

/// A pass that node A begins.
struct Pass {
  std::vector<ModelBoundary> graph = {};
  std::string remote_roots = {};  ///< other nodes that have roots
  int duplicates = 0;             ///< messages delivered twice
  std::string mortal = {};        ///< nodes of which at most one dies, at any point
  char throws = 0;                ///< a node whose graph task fails at its end
  bool slow_walks = false;        ///< messages may arrive while a walk is open
  bool on_route = false;          ///< the root knows the boundaries: nothing is marked
};

struct PassExploration {
  std::uint64_t states = 0;
  std::uint64_t ends = 0;       ///< states without a next event
  std::uint64_t completed = 0;  ///< ends in which the root completed
  std::uint64_t failed = 0;     ///< ends in which the root failed
  std::uint64_t reengaged = 0;  ///< nodes marked again after their marks were answered
  std::uint64_t repeated = 0;   ///< repeated gradients that were dropped
};

/// Explores all orders. Throws std::runtime_error with the preceding events if an invariant is broken.
[[nodiscard]] PassExploration explore(const Pass& pass);

}  // namespace troupe::testing

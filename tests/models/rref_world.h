// Model of an owner O and users A, B, C: ForkTable and HandleTables joined by a bag of messages that are delivered in
// any order. Explores every order of deliveries, duplicates, crashes and cut connections, and checks the invariants
// RR-1 to RR-9 and RR-13 in each state.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "actors/references/fork_table.h"
#include "actors/references/handle_table.h"

namespace troupe::testing {

/// One step of a node's program. Every step but `create` waits until the node holds a handle.
struct Step {
  enum class Kind : std::uint8_t {
    create,    ///< remote(): creates the value on O
    make,      ///< RRef(value): creates the value by O itself
    hand,      ///< a call to `to` that carries the handle once
    hand_two,  ///< a call to `to` that carries the handle twice
    drop,      ///< drops one local copy; at the end of the program the remaining copies are dropped one by one
  };
  Kind kind = Kind::drop;
  char to = 'O';
};
using Program = std::vector<Step>;

/// The explored script: a program per node, and the number of faults of each kind, which may occur at any point.
struct Script {
  std::map<char, Program> programs = {};
  int duplicates = 0;              ///< notifications delivered twice
  int undone = 0;                  ///< calls that are never sent
  bool creation_may_fail = false;  ///< the creating call may time out at its caller, at any point
  bool creation_may_stay = false;  ///< the creating call may never be sent, which the creator does not know at once
  std::string crashable = {};      ///< nodes of which one may crash
  std::string cut = {};            ///< two nodes that may lose their connection for good while both live
  char newcomer = 0;               ///< a user that meets the owner at any point, or never if the owner crashes before
};

struct Message {
  enum class Kind : std::uint8_t { create, call, forked, deleted, acknowledged, revoked, undone, down };
  Kind kind = Kind::call;
  char from = 'O';
  char to = 'O';
  std::vector<ForkId> forks;
  NodeName parent;           ///< forked only
  std::uint64_t number = 0;  ///< order of sending; has no effect
  friend bool operator<(const Message& a, const Message& b) {
    return std::tie(a.kind, a.from, a.to, a.forks, a.parent) < std::tie(b.kind, b.from, b.to, b.forks, b.parent);
  }
};

/// Results of an exploration. Tests assert that the cases they are about occurred.
struct Exploration {
  std::uint64_t states = 0;
  std::uint64_t ends = 0;             ///< states where no event comes of itself
  std::uint64_t revoked = 0;          ///< number of ref_revoked messages to holders
  std::uint64_t owner_died = 0;       ///< ends in which the owner was dead
  std::uint64_t early_deletes = 0;    ///< deletes that arrived before their fork
  std::uint64_t overtaken = 0;        ///< messages that arrived before an earlier message of the same sender
  std::uint64_t before_creation = 0;  ///< messages about the value that arrived before the creating call
  std::uint64_t given_back = 0;       ///< forks returned because the node had a confirmed one
  std::uint64_t never_met = 0;        ///< ends in which the newcomer never met the owner
  std::uint64_t forgotten = 0;        ///< times that the owner forgot the value before its creating call came
  std::uint64_t met_late = 0;         ///< times that an owner learned of forks only when a node met it
};

/// Explores all orders. Throws std::runtime_error with the preceding events if an invariant is broken.
[[nodiscard]] Exploration explore(const Script& script);

}  // namespace troupe::testing

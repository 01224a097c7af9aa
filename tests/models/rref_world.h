// A network of an owner O and users A, B, C in miniature: ForkTable and HandleTables joined by a bag of messages that
// are delivered in any order. Explores every order of deliveries, duplicates, crashes and cut connections, and checks
// the invariants RR-1 to RR-9 and RR-13 in each state.
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

/// One step of a node's program; it waits until the node holds a handle (create excepted).
struct Step {
  enum class Kind : std::uint8_t {
    create,    ///< remote(): the value comes to life on O
    make,      ///< RRef(value): the same, on O itself
    hand,      ///< a call to `to` that carries the handle once
    hand_two,  ///< a call to `to` that carries it twice
    drop,      ///< one local copy goes; what is left at the end of the program is dropped too, copy by copy
  };
  Kind kind = Kind::drop;
  char to = 'O';
};
using Program = std::vector<Step>;

/// What is explored: programs by node, and how often each kind of trouble may strike, at any point.
struct Script {
  std::map<char, Program> programs = {};
  int duplicates = 0;              ///< notifications delivered twice
  int undone = 0;                  ///< calls that never leave
  bool creation_may_fail = false;  ///< the creating call may time out at its caller, at any point
  bool creation_may_stay = false;  ///< the creating call may never leave, though the creator does not know that at once
  std::string crashable = {};      ///< nodes of which one may crash
  std::string cut = {};            ///< two nodes that may lose each other for good, both alive
  char newcomer = 0;               ///< a user that meets the owner at any point, or never if the owner crashes before
};

struct Message {
  enum class Kind : std::uint8_t { create, call, forked, deleted, acknowledged, revoked, undone, down };
  Kind kind = Kind::call;
  char from = 'O';
  char to = 'O';
  std::vector<ForkId> forks;
  NodeName parent;           ///< forked only
  std::uint64_t number = 0;  ///< messages in the order in which they were sent; decides nothing
  friend bool operator<(const Message& a, const Message& b) {
    return std::tie(a.kind, a.from, a.to, a.forks, a.parent) < std::tie(b.kind, b.from, b.to, b.forks, b.parent);
  }
};

/// What a script's exploration saw; the tests assert that the cases it is about did occur.
struct Exploration {
  std::uint64_t states = 0;
  std::uint64_t ends = 0;             ///< states in which nothing can happen any more
  std::uint64_t revoked = 0;          ///< times that a holder was told ref_revoked
  std::uint64_t owner_died = 0;       ///< ends in which the owner was dead
  std::uint64_t early_deletes = 0;    ///< deletes that came before their fork
  std::uint64_t overtaken = 0;        ///< messages that came before an earlier one of the same sender
  std::uint64_t before_creation = 0;  ///< words about the value that came before the creating call
  std::uint64_t given_back = 0;       ///< forks given back because the node had a confirmed one
  std::uint64_t never_met = 0;        ///< ends in which the newcomer never met the owner
  std::uint64_t met_late = 0;         ///< times that an owner heard of forks only when it was met
};

/// Explores all orders; throws std::runtime_error, with the events that led there, where an invariant is broken.
[[nodiscard]] Exploration explore(const Script& script);

}  // namespace troupe::testing

// What waits for what on one node: calls, functions, turns on values, contexts, meetings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/clock.h"
#include "actors/debug_info.h"
#include "messages/ids.h"

namespace troupe {

namespace detail {
class NodeCore;
}  // namespace detail

/// A request of this node that waits for its answer.
struct WaitingCall {
  std::string operation;         ///< "rpc project"
  NodeName peer;
  Duration age{};
  std::optional<Duration> left;  ///< until its deadline; nothing: while the peer lives
  std::string site;              ///< "trainer.cc:57", where the program made it; empty if that is not known
  friend bool operator==(const WaitingCall&, const WaitingCall&) = default;
};

/// A function that this node runs for another, or will.
struct ServedFunction {
  std::string operation;
  NodeName caller;
  Duration age{};
  friend bool operator==(const ServedFunction&, const ServedFunction&) = default;
};

/// What one use of a value is doing.
enum class UseState : std::uint8_t {
  has_turn,
  waits_elsewhere,  ///< began, gave its turn up, and waits for something else
  returning,        ///< its wait is over: waits to go on
  arriving,         ///< waits for its first turn
  early,            ///< waits for the value to exist
};

/// "has the turn"
[[nodiscard]] constexpr std::string_view name_of(UseState state) {
  switch (state) {
    case UseState::has_turn: return "has the turn";
    case UseState::waits_elsewhere: return "waits elsewhere";
    case UseState::returning: return "waits to go on";
    case UseState::arriving: return "waits for its turn";
    case UseState::early: return "waits for the value";
  }
  return "";
}

/// A function, or a guard of local_value, that uses a value which lives here.
struct ValueUser {
  std::string what;  ///< "rpc forward for trainer0"
  UseState state = UseState::has_turn;
  Duration age{};
  friend bool operator==(const ValueUser&, const ValueUser&) = default;
};

/// A value that lives here and is being used: who has the turn, then who waits for it, in the order of their turns.
struct ValueInUse {
  std::string value;  ///< id of its reference: "trainer0.17"
  std::vector<ValueUser> users;
  friend bool operator==(const ValueInUse&, const ValueInUse&) = default;
};

/// An autograd context that is alive here.
struct OpenContext {
  std::string context;          ///< "trainer0.3"
  std::vector<NodeName> peers;  ///< nodes that take part with this one
  std::size_t passes = 0;       ///< backward passes that run or wait here
  Duration age{};
  friend bool operator==(const OpenContext&, const OpenContext&) = default;
};

/// A barrier or gathering that meets at this node and is not complete.
struct OpenMeeting {
  std::string operation;
  std::vector<std::pair<NodeName, Duration>> waiting;  ///< who is there, and since when
  std::vector<NodeName> missing;
  friend bool operator==(const OpenMeeting&, const OpenMeeting&) = default;
};

/// Work of a thread of the pool.
struct BusyThread {
  std::string job;
  Duration age{};
  bool waiting = false;  ///< in one of our waits
  friend bool operator==(const BusyThread&, const BusyThread&) = default;
};

/// Node::stack: each list with the oldest first and at most kStackLines long; `counts` says how many there are.
struct StackInfo {
  DebugInfo counts;
  std::vector<WaitingCall> calls;
  std::vector<ServedFunction> served;
  std::vector<ValueInUse> values;
  std::vector<OpenContext> contexts;
  std::vector<OpenMeeting> meetings;
  std::vector<BusyThread> threads;
  std::vector<std::string> silent;  ///< parts of the node that did not say in time what they know
  friend bool operator==(const StackInfo&, const StackInfo&) = default;
};

inline constexpr std::size_t kStackLines = 100;

namespace detail {

/// Asks all parts of `node`; waits until they have answered, at most `patience`.
[[nodiscard]] StackInfo stack_of(NodeCore& node, Duration patience);

}  // namespace detail

}  // namespace troupe

// A report of all waits on one node: calls, functions, turns on values, contexts, barriers.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "actors/clock.h"
#include "actors/core/reports.h"
#include "actors/debug_info.h"

namespace troupe {

namespace detail {
class NodeCore;
}  // namespace detail

/// The result of Node::stack. Each list has the oldest entries first, at most kStackLines; `counts` has the totals.
struct StackInfo {
  DebugInfo counts;
  std::vector<WaitingCall> calls;
  std::vector<ServedFunction> served;
  std::vector<ValueInUse> values;
  std::vector<OpenContext> contexts;
  std::vector<OpenBarrier> barriers;
  std::vector<BusyThread> threads;
  std::vector<std::string> silent;  ///< parts of the node that did not answer in time
  friend bool operator==(const StackInfo&, const StackInfo&) = default;
};

inline constexpr std::size_t kStackLines = 100;

namespace detail {

/// Asks all parts of `node` and waits until they have answered, at most `patience`.
[[nodiscard]] StackInfo stack_of(NodeCore& node, Duration patience);

}  // namespace detail

}  // namespace troupe

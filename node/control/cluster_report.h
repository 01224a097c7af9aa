// The reports of running processes for `troupe status` and `troupe stack`. Plain data; as JSON in report_json.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "actors/clock.h"
#include "actors/debug_info.h"
#include "actors/stack_info.h"
#include "messages/ids.h"

namespace troupe {

/// The phase of a node's life.
enum class NodePhase : std::uint8_t {
  joining,  ///< its world is not complete yet
  up,
  serving,  ///< its program has called serve()
  leaving,  ///< its program has called shutdown()
};

/// A node's answer to "status".
struct NodeReport {
  NodePhase phase = NodePhase::joining;
  std::optional<std::uint32_t> rank;  ///< nullopt before it is a member
  Duration age{};                     ///< since it started to join
  std::vector<NodeName> members;      ///< that are up in its view, including itself
  DebugInfo counts;
  friend bool operator==(const NodeReport&, const NodeReport&) = default;
};

/// A node's answer to "stack".
struct StackReport {
  NodeReport node;
  StackInfo stack;
  friend bool operator==(const StackReport&, const StackReport&) = default;
};

/// One process of a cluster, as its launcher sees it.
struct LaunchedNode {
  NodeName name;
  int pid = 0;
  std::string end;               ///< "exit status 3", "killed by signal 9 (SIGKILL)"; empty while it runs
  std::string host;              ///< its [[host]]; empty without one: the launcher's machine
  std::uint64_t lost_lines = 0;  ///< of its output: dropped, because their reader was slower
  friend bool operator==(const LaunchedNode&, const LaunchedNode&) = default;
};

/// The launcher's answer to "nodes".
struct LaunchReport {
  std::string cluster;  ///< its name
  std::string file;     ///< absolute path of the cluster file
  Duration age{};
  std::vector<LaunchedNode> nodes;  ///< in order of rank
  friend bool operator==(const LaunchReport&, const LaunchReport&) = default;
};

/// A line that a node has printed.
struct LogLine {
  NodeName node;
  std::uint64_t place = 0;  ///< how many lines of the node came before it: a gap is of lines that are not kept
  bool is_error = false;    ///< printed on standard error
  std::string text;
  friend bool operator==(const LogLine&, const LogLine&) = default;
};

/// The launcher's answer to "logs" and "follow".
struct LogReport {
  /// How long "follow" waits for a line: less than a control connection has.
  static constexpr std::chrono::milliseconds kPatience{1'000};

  std::uint64_t next = 0;  ///< what to ask for next
  std::uint64_t end = 0;   ///< `next` of the answer that has the last line of now; 0: its launcher does not tell it
  bool more = false;       ///< an answer takes no more lines, and there are others
  bool over = false;       ///< there will be no more
  std::vector<LogLine> lines;
  friend bool operator==(const LogReport&, const LogReport&) = default;
};

}  // namespace troupe

// The result of a Profiler: what took how long, on all its nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "actors/clock.h"
#include "messages/error.h"
#include "messages/ids.h"

namespace troupe {

enum class EventKind : std::uint8_t {
  call,      ///< of a function or a value of another node or its own: from its start to its answer, at the caller
  function,  ///< a served function, until its result is there; of one that returns a future or task: until that is done
  kernel,    ///< a computation on tensors; on a GPU, its start
  backward,  ///< an operation in a backward pass; "send" and "recv" are the gradients between nodes
  pass,      ///< a backward pass over all nodes, at the node that began it
  span,      ///< a part of the program, by a ProfileSpan
};

/// Something that took time on one node.
struct ProfileEvent {
  EventKind kind = EventKind::span;
  NodeName node;
  std::uint32_t thread = 0;  ///< of that node, numbered from 0: the one on which it ended
  /// Of a call "rpc#f(a -> b)": what it is, the function, the caller and the callee; of a fetch "to_here(a -> b)".
  std::string name;
  std::string within;  ///< the calls that led there, the outermost first: "rpc#f(a -> b)#rpc#g(b -> c)"; or empty.
                       ///< Beyond 2 KiB those next to the event, after "...#"
  std::string inputs;  ///< of a kernel, if asked for: "f32 (2, 3), f32 (3)"
  Duration begin{};    ///< since the profiler was made
  Duration length{};
  friend bool operator==(const ProfileEvent&, const ProfileEvent&) = default;

  /// Returns "rpc#f(a -> b)#remote: matmul" for what a call led to on another node, otherwise the name; for the
  /// backward of an operation "matmul backward".
  [[nodiscard]] std::string full_name() const;
};

/// A plain value.
struct Profile {
  std::vector<ProfileEvent> events;        ///< by begin
  std::map<NodeName, std::uint64_t> lost;  ///< events beyond ProfilerOptions::events_max, of nodes that have any
  std::map<NodeName, Error> missing;       ///< why a node's events are not there

  /// Returns a table of the `rows_max` names that took longest, one line for each name and node: how often, how long
  /// together, on average and at most. Times of events inside others count in both.
  [[nodiscard]] std::string table(std::size_t rows_max = 30) const;

  /// Returns all events in the Trace Event Format (JSON), one process for each node: for ui.perfetto.dev and
  /// chrome://tracing.
  [[nodiscard]] std::string trace() const;

  /// Writes trace() to a file. Throws std::runtime_error `[profile] trace.json: No space left on device`.
  void save_trace(const std::string& path) const;
};

}  // namespace troupe

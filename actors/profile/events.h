// Events while they last, on the node that records them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "actors/profile/recording.h"
#include "tensor/compute_watcher.h"

namespace troupe::detail {

class NodeCore;

/// An event that has begun, or none if nobody records it. Ends with `end`, or when it is destroyed.
class OpenEvent {
 public:
  OpenEvent() noexcept;
  /// Begins an event of `kind` in `scope`, on the calling thread.
  OpenEvent(const ScopeState& scope, EventKind kind, std::string_view name) noexcept;
  ~OpenEvent();
  OpenEvent(OpenEvent&& other) noexcept;
  OpenEvent& operator=(OpenEvent&& other) noexcept;

  /// Begins the event of a call to `to`. `operation`: "rpc f"; of a fetch "to_here". `kind`: instead of its first word,
  /// or empty.
  [[nodiscard]] static OpenEvent of_call(const ScopeState& scope, std::string_view kind, std::string_view operation,
                                         const NodeName& to, std::span<const std::uint32_t> path) noexcept;

  [[nodiscard]] bool is_recorded() const noexcept { return state_ != nullptr; }

  /// Records the event. Later calls do nothing. Any thread may call it, one at a time.
  void end() noexcept;

 private:
  struct State;
  void begin(const ScopeState& scope, RecordedEvent event);

  std::unique_ptr<State> state_;
};

/// Whatever the calling thread computes during the guard's lifetime belongs to a scope, or to the passes of a context.
class RecordedThread {
 public:
  explicit RecordedThread(const ScopeState& scope) noexcept;
  RecordedThread(const std::shared_ptr<NodeCore>& node, const ContextId& context) noexcept;
  ~RecordedThread();
  RecordedThread(const RecordedThread&) = delete;
  RecordedThread& operator=(const RecordedThread&) = delete;

 private:
  class Watcher;
  std::optional<ComputeWatcher::Guard> guard_;
};

}  // namespace troupe::detail

// Makes a node answer `troupe status` and `troupe stack`.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "actors/clock.h"
#include "actors/core/node_core.h"
#include "node/control/cluster_report.h"
#include "node/control/control_server.h"

namespace troupe::detail {

/// Answers for one node from its constructor to its destructor; no part of the node waits for it. Thread rule: any
/// thread may call enter.
class NodeControl {
 public:
  /// Throws as listen_at.
  NodeControl(const ControlName& name, const std::shared_ptr<NodeCore>& node);

  void enter(NodePhase phase) { phase_.store(phase, std::memory_order_relaxed); }

 private:
  [[nodiscard]] std::string answer(std::string_view question) const;
  [[nodiscard]] NodeReport report(NodeCore& node) const;

  const std::weak_ptr<NodeCore> node_;  // it may end during a question
  const TimePoint began_;
  std::atomic<NodePhase> phase_{NodePhase::joining};
  ControlServer server_;  // last: its thread uses all of the above
};

}  // namespace troupe::detail

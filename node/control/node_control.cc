#include "node/control/node_control.h"

#include <exception>

#include "actors/membership/membership.h"
#include "node/control/report_json.h"

namespace troupe::detail {
namespace {

constexpr std::chrono::milliseconds kPatience{500};  // with the node's parts; the client's limit is longer

}  // namespace

NodeControl::NodeControl(const ControlName& name, const std::shared_ptr<NodeCore>& node)
    : node_(node),
      began_(node->clock().now()),
      server_(name, [this](std::string_view question) { return answer(question); }) {}

std::string NodeControl::answer(std::string_view question) const try {
  const std::shared_ptr<NodeCore> node = node_.lock();
  if (!node || node->stopped()) return json_of_error("it has shut down");
  if (question == "status") return json_of(report(*node));
  if (question == "stack") return json_of(StackReport{report(*node), stack_of(*node, kPatience)});
  return json_of_error("it does not know this question");
} catch (const std::exception& error) {
  return json_of_error(error.what());
}

NodeReport NodeControl::report(NodeCore& node) const {
  NodeReport report;
  report.phase = phase_.load(std::memory_order_relaxed);
  if (const auto info = node.membership().info()) report.rank = info.value().rank;
  report.age = node.clock().now() - began_;
  for (const Peer& member : node.membership().members()) report.members.push_back(member.name);
  report.counts = debug_info_of(node);
  return report;
}

}  // namespace troupe::detail

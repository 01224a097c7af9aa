#include "actors/collectives/enter_barrier.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <variant>

#include "actors/core/node_core.h"
#include "actors/membership/membership.h"

namespace troupe::detail {
namespace {

/// The leader of a barrier answers at the limit, so that all learn which members are missing. If that answer does not
/// arrive, the request itself ends, this much later.
constexpr std::chrono::milliseconds kAnswerGrace{250};

}  // namespace

msg::BarrierPassed enter_barrier(const Scope& scope, const std::vector<NodeName>& names, Failures failures,
                                 const std::string& operation, const NodeName& receiver, msg::Contribution own) {
  NodeCore& node = *scope.state().node;
  for (const NodeName& name : {node.name(), receiver.empty() ? node.name() : receiver}) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    throw std::invalid_argument(
        fmt::format("[{}] {} is no member of the group {}", operation, name, fmt::join(names, ", ")));
  }
  std::vector<NodeName> members = names;
  std::sort(members.begin(), members.end());
  const std::vector<NodeName> leaders = receiver.empty() ? members : std::vector<NodeName>{receiver};
  const std::optional<TimePoint> due = due_of(scope.state());
  for (const NodeName& leader : leaders) {
    std::chrono::microseconds limit{0};
    if (due) {
      limit = std::chrono::duration_cast<std::chrono::microseconds>(*due - node.clock().now());
      limit = std::max(limit, std::chrono::microseconds(1));  // 0 means no limit
    }
    const bool partial = failures == Failures::partial;
    const auto entry = node.next_id<BarrierEntryId>();
    Promise<msg::AnyMessage> met(node.future_home());
    const Future<msg::AnyMessage> answer = met.future();
    node.request({leader,
                  "membership",
                  operation,
                  due ? std::optional(*due + kAnswerGrace) : std::nullopt,
                  msg::BarrierEntered{entry, operation, members, receiver, partial, limit, own},
                  {scope.stop_token()}},
                 [met](Result<msg::AnyMessage> result) { met.complete(std::move(result)); });
    answer.state().wait();
    const Result<msg::AnyMessage>& result = answer.state().result();
    if (result) {
      if (const auto* passed = result.value().get_if<msg::BarrierPassed>()) return *passed;
      throw RemoteError(
          node.error(ErrorCode::protocol_violation, leader, operation, "the answer to a barrier is not BarrierPassed"));
    }
    const ErrorCode code = result.error().code;
    const bool unanswered = code == ErrorCode::timeout && due && node.clock().now() >= *due + kAnswerGrace;
    // By name: the leader may have come up after this node asked. Another life of it has no entry of this id.
    if (code == ErrorCode::cancelled || unanswered) node.notify(leader, "membership", msg::BarrierLeft{entry});
    // The leader is gone: the living members meet at the next one.
    if (partial && receiver.empty() && leader == result.error().peer && !node.is_up(leader)) continue;
    throw RemoteError(result.error());
  }
  throw std::logic_error("[Group] a node is always up for itself");
}

Error misfit(const std::string& operation, const NodeName& from, std::string what) {
  Error error;
  error.code = ErrorCode::bad_argument;
  error.peer = from;
  error.operation = operation;
  error.message = std::move(what);
  error.execution = Execution::never;
  return error;
}

}  // namespace troupe::detail

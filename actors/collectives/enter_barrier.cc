#include "actors/collectives/enter_barrier.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "actors/collectives/collectives.h"
#include "actors/collectives/partial_meetings.h"
#include "actors/core/guarded.h"
#include "actors/core/node_core.h"
#include "actors/membership/membership.h"

namespace troupe::detail {
namespace {

/// The leader of a barrier answers at the limit, so that all learn which members are missing. If that answer does not
/// arrive, the request itself ends, this much later.
constexpr std::chrono::milliseconds kAnswerGrace{250};

/// Notifies the leader that this member has given the entry up. Without memory for that word the node ends: other
/// members would meet the entry.
void leave(NodeCore& node, const NodeName& leader, const BarrierEntryId& entry) noexcept try {
  // By name: the leader may have come up after this node asked. Another life of it has no entry of this id.
  node.notify(leader, "membership", msg::BarrierLeft{entry});
} catch (const std::bad_alloc&) {
  node.fail(failure_of_current_exception("a barrier"));
}

/// Enters at `leader` and waits for its answer. An entry that ends without one is given up.
Result<msg::AnyMessage> enter_at(const NodeName& leader, const Scope& scope, msg::BarrierEntered entered) {
  NodeCore& node = *scope.state().node;
  const std::optional<TimePoint> due = due_of(scope.state());
  if (due) {
    entered.limit = std::chrono::duration_cast<std::chrono::microseconds>(*due - node.clock().now());
    entered.limit = std::max(entered.limit, std::chrono::microseconds(1));  // 0 means no limit
  }
  const BarrierEntryId entry = entered.entry;
  const std::string operation = entered.operation;
  Promise<msg::AnyMessage> met(node.future_home());
  const Future<msg::AnyMessage> answer = met.future();
  node.request({leader,
                "membership",
                operation,
                due ? std::optional(*due + kAnswerGrace) : std::nullopt,
                std::move(entered),
                {scope.stop_token()}},
               [met](Result<msg::AnyMessage> result) { met.complete(std::move(result)); });
  try {
    answer.state().wait();
  } catch (const std::bad_alloc&) {  // of a function that cannot give its turn up
    leave(node, leader, entry);
    throw;
  }
  const Result<msg::AnyMessage>& result = answer.state().result();
  if (result) return result;
  const ErrorCode code = result.error().code;
  const bool unanswered = code == ErrorCode::timeout && due && node.clock().now() >= *due + kAnswerGrace;
  if (code == ErrorCode::cancelled || unanswered) leave(node, leader, entry);
  return result;
}

msg::BarrierPassed passed_of(const NodeCore& node, const NodeName& leader, const std::string& operation,
                             const msg::AnyMessage& answer) {
  if (const auto* passed = answer.get_if<msg::BarrierPassed>()) return *passed;
  throw RemoteError(
      node.error(ErrorCode::protocol_violation, leader, operation, "the answer to a barrier is not BarrierPassed"));
}

/// Returns the life of that name which is up; without an incarnation if none is.
NodeLife life_up(const NodeCore& node, const NodeName& name) {
  if (name == node.name()) return {name, node.incarnation()};
  const std::optional<Peer> up = node.lives().up(name);
  return {name, up ? up->incarnation : Incarnation{}};
}

/// Returns the life of that name which is or was the last one up.
NodeLife last_life(const NodeCore& node, const NodeName& name) {
  const NodeLife up = life_up(node, name);
  if (up.incarnation != Incarnation{}) return up;
  const std::optional<Error> over = node.lives().why_over(name);
  return {name, over ? over->incarnation : Incarnation{}};
}

/// Takes the notes out of what the members brought.
std::vector<EntryNote> take_notes(const NodeCore& node, const std::string& operation, msg::BarrierPassed& passed) {
  std::vector<EntryNote> notes;
  for (auto& [name, brought] : passed.values) {
    try {
      notes.push_back(take_note(brought));
    } catch (const DecodeError& error) {
      throw RemoteError(node.error(ErrorCode::protocol_violation, name, operation, error.what()));
    }
  }
  return notes;
}

/// An entry of this node at a partial barrier. However it ends, the node then says what it has met at a leader that is
/// gone: it did not while it had an entry there.
class PartialEntry {
 public:
  PartialEntry(NodeCore& node, const PartialPlace& place)
      : node_(node), entering_(std::in_place, node.collectives().partial_meetings(), place) {}
  PartialEntry(const PartialEntry&) = delete;
  PartialEntry& operator=(const PartialEntry&) = delete;
  ~PartialEntry() {
    entering_.reset();
    node_.collectives().tell_met();
  }

 private:
  NodeCore& node_;
  std::optional<PartialMeetings::Entering> entering_;
};

/// Meets the living members at the first living one. If that dies, they go on to the next.
msg::BarrierPassed enter_partial(const Scope& scope, msg::BarrierEntered entered) {
  NodeCore& node = *scope.state().node;
  PartialMeetings& meetings = node.collectives().partial_meetings();
  const PartialPlace place{entered.operation, entered.members};
  const PartialEntry entry(node, place);
  std::optional<Error> lost;  // how the last leader before this one ended
  for (auto leader = place.members.begin(); leader != place.members.end();) {
    const NodeLife life = life_up(node, *leader);
    msg::BarrierEntered here = entered;
    add_note(here.own, meetings.note(place, entered.entry, life));
    const Result<msg::AnyMessage> result = enter_at(*leader, scope, std::move(here));
    if (!result) {
      if (*leader != result.error().peer || node.is_up(*leader)) throw RemoteError(result.error());
      lost = result.error();
      ++leader;
      continue;
    }
    msg::BarrierPassed passed = passed_of(node, *leader, place.operation, result.value());
    const std::vector<EntryNote> notes = take_notes(node, place.operation, passed);
    const PartialMeetings::Verdict verdict = PartialMeetings::judge(entered.entry, notes);
    if (verdict == PartialMeetings::Verdict::again) continue;
    if (verdict == PartialMeetings::Verdict::met) {
      // A leader that came up after this node had looked has answered.
      meetings.passed(place, life.incarnation == Incarnation{} ? last_life(node, *leader) : life, notes);
      return passed;
    }
    if (lost) throw RemoteError(*lost);
    throw RemoteError(node.error(ErrorCode::protocol_violation, *leader, place.operation,
                                 "a member says that it has met this entry, which no other leader has had"));
  }
  throw std::logic_error("[Group] a node is always up for itself");
}

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
  const bool partial = failures == Failures::partial;
  msg::BarrierEntered entered{
      node.next_id<BarrierEntryId>(), operation, members, receiver, partial, {}, std::move(own)};
  if (partial && receiver.empty()) return enter_partial(scope, std::move(entered));
  const NodeName leader = receiver.empty() ? members.front() : receiver;
  const Result<msg::AnyMessage> result = enter_at(leader, scope, std::move(entered));
  if (!result) throw RemoteError(result.error());
  return passed_of(node, leader, operation, result.value());
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

#include "actors/group.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <stdexcept>
#include <variant>

#include "actors/collectives/meet.h"
#include "actors/core/node_core.h"
#include "actors/membership/membership.h"

namespace troupe {
namespace detail {
namespace {

/// The leader of a meeting answers at the limit, so that everybody hears who did not come; only if that is not heard
/// either, the request itself ends, so much later.
constexpr std::chrono::milliseconds kGrace{250};

}  // namespace

std::array<std::vector<NodeName>, 2> halves(const std::vector<NodeName>& names) {
  const auto middle = names.begin() + static_cast<std::ptrdiff_t>((names.size() + 1) / 2);
  return {std::vector<NodeName>(names.begin(), middle), std::vector<NodeName>(middle, names.end())};
}

void Race::ended(std::size_t index, bool ok) {
  {
    std::lock_guard lock(mutex_);
    --left_;
    if (!winner_ && ok == (until_ == Until::first_success)) winner_ = index;
    if (!winner_ && left_ > 0) return;
  }
  over_.signal();
}

std::optional<std::size_t> Race::wait() {
  over_.wait(std::nullopt);
  std::lock_guard lock(mutex_);
  return winner_;
}

Error merged(const std::map<NodeName, Error>& failures) {
  const auto first = failures.begin();
  Error error = first->second;
  for (auto at = std::next(first); at != failures.end(); ++at) {
    if (at->second == first->second) continue;  // a whole part of a tree shares one
    error.cause += fmt::format("{}{}: {}", error.cause.empty() ? "" : "; ", at->first, at->second.text());
  }
  return error;
}

Error misfit(const std::string& operation, const NodeName& from, std::string what) {
  Error error;
  error.code = ErrorCode::bad_argument;
  error.peer = from;
  error.operation = operation;
  error.message = std::move(what);
  return error;
}

msg::BarrierPassed meet(const Scope& scope, const std::vector<NodeName>& names, Failures failures, const std::string& operation,
                        const NodeName& receiver, msg::Contribution own) {
  NodeCore& node = *scope.state().node;
  for (const NodeName& name : {node.name(), receiver.empty() ? node.name() : receiver}) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    throw std::invalid_argument(fmt::format("[{}] {} is no member of the group {}", operation, name, fmt::join(names, ", ")));
  }
  std::vector<NodeName> members = names;
  std::sort(members.begin(), members.end());
  const std::vector<NodeName> leaders = receiver.empty() ? members : std::vector<NodeName>{receiver};
  const std::optional<TimePoint> due = due_of(scope.state());
  for (const NodeName& leader : leaders) {
    std::chrono::microseconds limit{0};
    if (due) {
      limit = std::chrono::duration_cast<std::chrono::microseconds>(*due - node.clock().now());
      limit = std::max(limit, std::chrono::microseconds(1));  // 0 says that there is no limit
    }
    const bool partial = failures == Failures::partial;
    const NodeLife life = node.membership().life_of(leader);
    const auto entry = node.next_id<MeetingEntryId>();
    Promise<msg::AnyMessage> met(node.future_home());
    const Future<msg::AnyMessage> answer = met.future();
    node.request({leader, "membership", operation, due ? std::optional(*due + kGrace) : std::nullopt,
                  msg::BarrierEntered{entry, operation, members, receiver, partial, limit, own}, {scope.stop_token()}},
                 [met](Result<msg::AnyMessage> result) { met.complete(std::move(result)); });
    answer.state().wait();
    const Result<msg::AnyMessage>& result = answer.state().result();
    if (result) {
      if (const auto* passed = std::get_if<msg::BarrierPassed>(&result.value())) return *passed;
      throw RemoteError(node.error(ErrorCode::protocol_violation, leader, operation, "the answer to a meeting is not BarrierPassed"));
    }
    const ErrorCode code = result.error().code;
    const bool unanswered = code == ErrorCode::timeout && due && node.clock().now() >= *due + kGrace;
    if (code == ErrorCode::cancelled || unanswered) node.notify(life, "membership", msg::BarrierLeft{entry});
    // Where they were to meet is gone: the living meet at the next one.
    if (partial && receiver.empty() && leader == result.error().peer && !node.is_up(leader)) continue;
    throw RemoteError(result.error());
  }
  throw std::logic_error("[Group] a node is always up for itself");
}

}  // namespace detail

Group::Group(std::vector<NodeName> names, Failures failures)
    : names_(std::move(names)), failures_(failures), turn_(std::make_shared<std::atomic<std::size_t>>(0)) {
  if (names_.empty()) throw std::invalid_argument("[Group] a group has at least one member");
  std::set<NodeName> seen;
  for (const NodeName& name : names_) {
    if (!seen.insert(name).second) throw std::invalid_argument(fmt::format("[Group] {} is named twice", name));
  }
}

Group Group::of_role(const Scope& scope, std::string_view role) {
  const detail::NodeCore& node = *scope.state().node;
  std::vector<NodeName> names;
  for (WorkerInfo& info : node.membership().infos_of_role(role)) names.push_back(std::move(info.name));
  if (role.empty() || names.empty()) {
    throw RemoteError(node.error(ErrorCode::not_joined, {}, "role",
                                 fmt::format("no member that is up has the role \"{}\": there are {}", role,
                                             fmt::join(node.membership().roles(), ", "))));
  }
  return Group(std::move(names));
}

Group Group::of_all(const Scope& scope) {
  std::vector<NodeName> names;
  for (WorkerInfo& info : scope.state().node->membership().infos()) names.push_back(std::move(info.name));
  return Group(std::move(names));
}

std::vector<NodeName> Group::in_turn() const {
  std::vector<NodeName> names = names_;
  const std::size_t turn = turn_->fetch_add(1, std::memory_order_relaxed) % names.size();
  std::rotate(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(turn), names.end());
  return names;
}

std::map<NodeName, Error> Group::barrier(const Scope& scope) const {
  const msg::BarrierPassed passed = meet(scope, "barrier", {}, {});
  return {passed.missing.begin(), passed.missing.end()};
}

msg::BarrierPassed Group::meet(const Scope& scope, std::string operation, NodeName receiver, msg::Contribution own) const {
  return detail::meet(scope, names_, failures_, operation, receiver, std::move(own));
}

}  // namespace troupe

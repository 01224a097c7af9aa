#include "actors/group.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "actors/collectives/enter_barrier.h"
#include "actors/core/node_core.h"
#include "actors/membership/membership.h"

namespace troupe {
namespace detail {
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
    if (at->second == first->second) continue;  // a whole subtree shares one error
    error.cause += fmt::format("{}{}: {}", error.cause.empty() ? "" : "; ", at->first, at->second.text());
  }
  return error;
}

Error unaccounted(const NodeName& root) {
  Error error;
  error.code = ErrorCode::protocol_violation;
  error.peer = root;
  error.operation = "group";
  error.message = fmt::format("the answer of {} does not account for the members below it", root);
  return error;
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
                                 fmt::format("no member that is up has the role \"{}\"; the roles are: {}", role,
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
  const msg::BarrierPassed passed = detail::enter_barrier(scope, names_, failures_, "barrier", {}, {});
  return {passed.missing.begin(), passed.missing.end()};
}

std::map<NodeName, Error> Group::meet(const Scope& scope, const std::string& operation, const NodeName& receiver,
                                      const Fingerprint& type, msg::Payload own, const TakeValue& take) const {
  const msg::BarrierPassed passed =
      detail::enter_barrier(scope, names_, failures_, operation, receiver, {type, std::move(own)});
  for (const auto& [name, brought] : passed.values) {
    if (brought.type != type) throw RemoteError(detail::misfit(operation, name, "it brought a value of another type"));
    try {
      take(name, brought.value);
    } catch (const std::exception& exception) {  // DecodeError, or an exception of the value's own type
      throw RemoteError(detail::misfit(operation, name, exception.what()));
    }
  }
  return {passed.missing.begin(), passed.missing.end()};
}

}  // namespace troupe

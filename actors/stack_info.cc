#include "actors/stack_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "actors/contexts/contexts.h"
#include "actors/core/node_core.h"
#include "actors/core/query.h"
#include "actors/membership/membership.h"
#include "actors/references/references.h"

namespace troupe::detail {
namespace {

/// Returns the age of a barrier or a value in use: that of its oldest entry.
Duration age_of(const OpenBarrier& barrier) {
  return barrier.waiting.empty() ? Duration{} : barrier.waiting.front().second;
}
Duration age_of(const OpenContext& context) { return context.age; }
Duration age_of(const BusyThread& thread) { return thread.age; }
Duration age_of(const ValueInUse& value) {
  Duration age{};
  for (const ValueUser& user : value.users) age = std::max(age, user.age);
  return age;
}

template <class T>
std::vector<T> oldest(std::vector<T> all) {
  std::stable_sort(all.begin(), all.end(), [](const T& a, const T& b) { return age_of(a) > age_of(b); });
  if (all.size() > kStackLines) all.resize(kStackLines);
  return all;
}

/// Returns "trainer.cc:57", without the directories of the build machine.
std::string text_of(const SourceLocation& site) {
  const std::string_view file = site.file_name();
  return fmt::format("{}:{}", file.substr(file.rfind('/') + 1), site.line());
}

WaitingCall described(const PendingCall& call, TimePoint now) {
  return {call.operation, call.peer.name, now - call.started,
          call.deadline ? std::optional(*call.deadline - now) : std::nullopt,
          call.site ? text_of(*call.site) : std::string()};
}

}  // namespace

StackInfo stack_of(NodeCore& node, Duration patience) {
  const TimePoint due = node.clock().now() + patience;
  Query<PendingCall> calls(node.future_home());
  Query<ValueInUse> values(node.future_home());
  Query<OpenContext> contexts(node.future_home());
  Query<OpenBarrier> barriers(node.future_home());
  node.list_requests(kStackLines, calls.slot());
  node.references().list_users(values.slot());
  node.contexts().list(contexts.slot());
  node.membership().list_barriers(barriers.slot());

  StackInfo stack;
  const auto answers_of = [&](auto& query, const char* part) {
    auto outcome = query.wait(std::max(due - node.clock().now(), Duration{}));
    if (!outcome.complete) stack.silent.emplace_back(part);
    return std::move(outcome.answers);
  };
  const auto pending = answers_of(calls, "calls");
  const TimePoint now = node.clock().now();
  for (const PendingCall& call : pending) stack.calls.push_back(described(call, now));
  stack.values = oldest(answers_of(values, "values"));
  stack.contexts = oldest(answers_of(contexts, "contexts"));
  stack.barriers = oldest(answers_of(barriers, "barriers"));
  stack.served = node.served_calls().oldest(kStackLines);
  for (RunningJob& job : node.executor().running())
    stack.threads.push_back({std::move(job.label), job.age, job.waiting});
  stack.threads = oldest(std::move(stack.threads));
  stack.counts = debug_info_of(node);
  return stack;
}

}  // namespace troupe::detail

#include "actors/references/naming.h"

#include <fmt/format.h>

#include <new>
#include <optional>
#include <stop_token>
#include <utility>

#include "actors/core/guarded.h"
#include "actors/core/node_core.h"
#include "actors/references/published_values.h"
#include "actors/references/references.h"
#include "actors/rref.h"

namespace troupe::detail {
namespace {

using Handle = PublishedValues::Handle;

Error on_this_node(const NodeCore& node, const char* operation, const std::string& name, Error error) {
  error.peer = node.name();
  error.incarnation = node.incarnation();
  error.operation = fmt::format("{} \"{}\"", operation, name);
  return error;
}

/// Returns the value, or null if the caller must make it.
Handle wait_for_value_or_turn(const ScopeState& scope, const std::string& name, const std::string& identity) {
  NodeCore& node = *scope.node;
  PublishedValues& published = node.references().published();
  const auto due = due_of(scope);
  const Promise<Handle> promise(node.future_home());
  const Future<Handle> answered = promise.future();
  const auto request =
      published.make(name, identity, [core = node.shared_from_this(), name, promise](Result<Handle> answer) {
        const bool must_make = answer && answer.value() == nullptr;
        // This caller has stopped waiting: the next one makes the value.
        if (!promise.complete(std::move(answer)) && must_make) core->references().published().give_up(name);
      });
  const std::stop_callback cancel(scope.stop, [&answered] { answered.cancel(); });
  const auto in_time = answered.get_for(due ? *due - node.clock().now() : Duration::max());
  const bool is_late = !in_time && answered.cancel();
  published.withdraw(request);
  if (is_late) {
    Error late;
    late.code = ErrorCode::timeout;
    late.message = "another caller makes the value, and it did not exist in time";
    late.execution = Execution::never;
    throw RemoteError(on_this_node(node, "node_local", name, std::move(late)));
  }
  const Result<Handle>& answer = answered.state().result();
  if (!answer) throw RemoteError(on_this_node(node, "node_local", name, answer.error()));
  return answer.value();
}

}  // namespace

std::shared_ptr<RRefHandle> publish(const ScopeState& scope, const std::string& name, const NamedType& type,
                                    ValueBox value, const SourceLocation& site) {
  NodeCore& node = *scope.node;
  auto handle = own(scope, std::move(value), type.wire_name, site);
  if (auto refused = node.references().published().publish(name, {type.identity, handle})) {
    throw RemoteError(on_this_node(node, "publish", name, *std::move(refused)));
  }
  return handle;
}

std::shared_ptr<RRefHandle> node_local(const ScopeState& scope, const std::string& name, const NamedType& type,
                                       const SourceLocation& site, const std::function<ValueBox()>& make) {
  if (Handle existing = wait_for_value_or_turn(scope, name, type.identity)) return existing;
  PublishedValues& published = scope.node->references().published();
  published.begin_making(name);
  try {
    Handle made = own(scope, make(), type.wire_name, site);
    published.made(name, {type.identity, made});
    return made;
  } catch (...) {
    published.give_up(name);
    throw;
  }
}

bool unpublish(const ScopeState& scope, const std::string& name) {
  return scope.node->references().published().unpublish(name);
}

Future<RRef<Unit>> find_published(Scope& scope, const std::string& name, const std::string& identity) {
  const auto node = scope.state().node;
  const Promise<RRef<Unit>> promise(scope);
  const auto request = node->references().published().find(name, identity, [promise](Result<Handle> found) {
    promise.complete(found ? Result<RRef<Unit>>(RRef<Unit>(found.value())) : Result<RRef<Unit>>(found.error()));
  });
  const auto withdraw = [node, request, promise] {
    try {
      if (node->references().published().withdraw(request)) promise.complete(cancelled_by_caller());
    } catch (const std::bad_alloc&) {  // in a stop callback, where no exception may end
      node->fail(failure_of_current_exception("a cancellation"));
    }
  };
  using OnStop = std::stop_callback<std::remove_const_t<decltype(withdraw)>>;
  // Lives as long as the request: the future's callback owns it.
  auto on_stop = std::make_shared<std::optional<OnStop>>();
  on_stop->emplace(scope.stop_token(), withdraw);
  promise.future().state().on_done([on_stop](const Error* /*refused*/) {});
  return promise.future();
}

}  // namespace troupe::detail

#include "actors/rref.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "actors/contexts/contexts.h"
#include "actors/core/node_core.h"
#include "actors/references/references.h"

namespace troupe::detail {
namespace {

/// Why the reference cannot be used from this scope, if so.
std::optional<Error> unusable(const ScopeState& scope, const RRefHandle& handle, const std::string& operation) {
  const auto node = handle.node();
  if (node != scope.node) {
    return node->error(ErrorCode::bad_argument, node->name(), operation,
                       fmt::format("a reference of node {} is used through a scope of node {}: send it there", node->name(),
                                   scope.node->name()));
  }
  auto failure = node->references().failure(handle);
  if (failure) failure->operation = operation;
  return failure;
}

using Handles = std::vector<std::shared_ptr<RRefHandle>>;

/// Passes an answer on and holds the references until then: the owner keeps the values for as long. A reference that has
/// failed meanwhile says why better than its owner, who is gone or has forgotten a value that could not be made.
template <class Answer>
std::function<void(Result<Answer>)> with_own_failure(Handles handles, std::string operation, std::function<void(Result<Answer>)> done) {
  return [handles = std::move(handles), operation = std::move(operation), done = std::move(done)](Result<Answer> answer) {
    for (const auto& handle : handles) {
      const auto node = answer ? nullptr : handle->node_if_alive();
      auto failure = node ? node->references().failure(*handle) : std::nullopt;
      if (!failure) continue;
      failure->operation = operation;
      return done(*std::move(failure));
    }
    done(std::move(answer));
  };
}

std::string operation_of(const Handles& handles, msg::Wanted wanted) {
  const char* what = wanted == msg::Wanted::value ? "to_here" : wanted == msg::Wanted::type ? "type of" : wanted == msg::Wanted::cached ? "cached" : "next of stream";
  if (handles.size() == 1) return fmt::format("{} {}", what, handles.front()->id().text());
  return fmt::format("{} {} and {} more", what, handles.front()->id().text(), handles.size() - 1);
}

}  // namespace

void fetch(const ScopeState& scope, const Handles& handles, msg::Wanted wanted, ReplyHandler done,
           std::vector<std::stop_token> cancelled_by, std::optional<SourceLocation> site) {
  const std::string operation = operation_of(handles, wanted);
  const NodeName& owner = handles.front()->owner().name;
  msg::RRefFetch message;
  for (const auto& handle : handles) {
    if (auto failure = unusable(scope, *handle, operation)) return done(*std::move(failure));
    message.rrefs.push_back(handle->id());
    cancelled_by.push_back(handle->failure_token());
  }
  if (scope.context) scope.node->contexts().called(*scope.context, owner);
  message.wanted = wanted;
  message.site = next_site(scope, owner);
  scope.node->request({owner, "rref/" + handles.front()->id().text(), operation, due_of(scope), std::move(message),
                       std::move(cancelled_by), site, handles.front()->owner().incarnation, !scope.caller.empty(),
                       scope.unreachable == Unreachable::fail},
                      expect_reply(scope.node, owner, with_own_failure(handles, operation, std::move(done))));
}

Scope without_context(const Scope& scope) {
  if (!scope.state().context) return scope;
  auto state = std::make_shared<ScopeState>(scope.state());
  state->context.reset();
  return Scope(std::move(state));
}

std::vector<std::vector<std::size_t>> by_owner(const Handles& handles) {
  std::map<NodeLife, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < handles.size(); ++i) groups[handles[i]->owner()].push_back(i);
  std::vector<std::vector<std::size_t>> lists;
  for (auto& [owner, places] : groups) lists.push_back(std::move(places));
  return lists;
}

Future<std::string> type_of_value(const ScopeState& scope, const std::shared_ptr<RRefHandle>& handle, const SourceLocation& site) {
  const Promise<std::string> promise(future_home_of(scope));
  Future<std::string> future = promise.future();
  if (const auto known = handle->known_type()) {
    promise.complete(*known);
    return future;
  }
  fetch(scope, {handle}, msg::Wanted::type, [promise, handle](const Result<std::shared_ptr<PayloadReader>>& reply) {
    auto type = reply ? read_value<std::string>(*reply.value()) : Result<std::string>(reply.error());
    if (type) handle->learned_type(type.value());
    promise.complete(std::move(type));
  }, cancelling(scope, future.state()), site);
  return future;
}

PinnedValue use_here(const ScopeState& scope, const std::shared_ptr<RRefHandle>& handle) {
  NodeCore& node = *scope.node;
  const std::string operation = "local_value " + handle->id().text();
  if (auto failure = unusable(scope, *handle, operation)) throw RemoteError(*std::move(failure));
  if (!is_owner(*handle)) {
    throw RemoteError(node.error(ErrorCode::bad_argument, handle->owner().name, operation,
                                 fmt::format("the value is on {}, this is {}", handle->owner().name, node.name())));
  }
  const auto due = due_of(scope);
  const TurnId turn = node.references().next_turn();
  const Promise<PinnedValue> promise(node.future_home());
  const Future<PinnedValue> pinned = promise.future();
  node.references().use(handle->id(), turn, {UseKind::changes, operation}, [promise](Result<ValueBox> value, std::shared_ptr<ValueUse> use) {
    promise.complete(value ? Result<PinnedValue>(PinnedValue{value.value(), std::move(use)}) : Result<PinnedValue>(value.error()));
  });
  const std::stop_callback cancel(scope.stop, [&] { pinned.cancel(); });
  const auto in_time = pinned.get_for(due ? *due - node.clock().now() : Duration::max());
  const bool is_late = !in_time && pinned.cancel();
  if (is_late || !pinned.state().result().ok()) node.references().withdraw(handle->id(), turn);
  if (!is_late) return pinned.get();
  Error late = node.error(ErrorCode::timeout, node.name(), operation, "the value did not exist in time, or others had the turn on it");
  late.execution = Execution::never;
  throw RemoteError(std::move(late));
}

std::shared_ptr<RRefHandle> remote(CallEncoder encoder, const std::string& type) {
  NodeCore& node = *encoder.scope()->node;
  const auto rref = node.next_id<RRefId>();
  ForkId fork;
  auto handle = node.references().created(rref, fork, encoder.to(), type, encoder.site());
  encoder.only_to(handle->owner().incarnation);
  encoder.create(rref, fork, [handle, fork](const Result<Unit>& result) {
    if (const auto core = handle->node_if_alive()) core->references().creation_ended(*handle, fork, result);
  });
  return handle;
}

std::shared_ptr<RRefHandle> remote_on(CallEncoder encoder, const std::shared_ptr<RRefHandle>& target, const std::string& type) {
  NodeCore& node = *encoder.scope()->node;
  const auto rref = node.next_id<RRefId>();
  ForkId fork;
  auto handle = node.references().created(rref, fork, encoder.to(), type, encoder.site());
  auto created = [handle, fork, target](const Result<Unit>& result) {
    if (const auto core = handle->node_if_alive()) core->references().creation_ended(*handle, fork, result);
  };
  if (auto failure = unusable(*encoder.scope(), *target, "remote on " + target->id().text())) {
    failure->execution = Execution::never;
    created(*failure);
  } else {
    encoder.only_to(target->owner().incarnation);
    encoder.create_on(target->id(), rref, fork, std::move(created));
  }
  return handle;
}

void call_on(CallEncoder encoder, const std::shared_ptr<RRefHandle>& target, ReplyHandler done) {
  const std::string operation = "rpc on " + target->id().text();
  if (auto failure = unusable(*encoder.scope(), *target, operation)) return done(*std::move(failure));
  encoder.also_cancelled_by(target->failure_token());
  encoder.only_to(target->owner().incarnation);
  encoder.call_on(target->id(), with_own_failure(Handles{target}, operation, std::move(done)));
}

std::shared_ptr<RRefHandle> own(const ScopeState& scope, ValueBox value, const std::string& type, const SourceLocation& site) {
  return scope.node->references().own(std::move(value), type, site, scope.sharing);
}

bool is_owner(const RRefHandle& handle) {
  const auto node = handle.node();
  return handle.owner() == NodeLife{node->name(), node->incarnation()};
}

bool is_confirmed(const RRefHandle& handle) { return handle.node()->references().is_confirmed(handle); }

std::string text_of(const RRefHandle& handle) { return handle.text(); }

void throw_null_rref(const char* operation) {
  throw std::logic_error(fmt::format("[RRef] {} of a null reference", operation));
}

void save_rref(OutArchive& archive, const std::shared_ptr<RRefHandle>& handle) {
  auto* writer = dynamic_cast<PayloadWriter*>(archive.hook());
  if (writer == nullptr) {
    throw EncodeError(ErrorCode::not_serializable, "[encode] an RRef travels only in a call or its result");
  }
  archive(handle ? std::optional(writer->hand_out(handle)) : std::nullopt);
}

std::shared_ptr<RRefHandle> load_rref(InArchive& archive) {
  auto* reader = dynamic_cast<PayloadReader*>(archive.hook());
  if (reader == nullptr) throw DecodeError("[decode] an RRef outside a call or its result");
  std::optional<std::uint32_t> index;
  archive(index);
  return index ? reader->handle(*index) : nullptr;
}

}  // namespace troupe::detail

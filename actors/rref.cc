#include "actors/rref.h"

#include <fmt/format.h>

#include <map>
#include <new>
#include <utility>

#include "actors/calls/outgoing_call.h"
#include "actors/contexts/contexts.h"
#include "actors/core/error_not_run.h"
#include "actors/core/node_core.h"
#include "actors/core/type_name.h"
#include "actors/references/references.h"

namespace troupe::detail {
namespace {

/// Errors: as error_of_decoding.
Result<std::string> read_string(PayloadReader& reader) {
  try {
    return decode_value<std::string>(&reader);
  } catch (...) {
    return error_of_decoding();
  }
}

using Handles = std::vector<std::shared_ptr<RRefHandle>>;

std::string operation_of(const Handles& handles, msg::Wanted wanted) {
  const char* what = wanted == msg::Wanted::value    ? "to_here"
                     : wanted == msg::Wanted::type   ? "type of"
                     : wanted == msg::Wanted::cached ? "cached"
                                                     : "next of stream";
  if (handles.size() == 1) return fmt::format("{} {}", what, handles.front()->id().text());
  return fmt::format("{} {} and {} more", what, handles.front()->id().text(), handles.size() - 1);
}

}  // namespace

void fetch(const ScopeState& scope, const Handles& handles, msg::Wanted wanted, OutgoingCall& call,
           std::optional<SourceLocation> site) {
  const std::string operation = operation_of(handles, wanted);
  const NodeLife& owner = handles.front()->owner();
  msg::RRefFetch message;
  for (const auto& handle : handles) {
    if (auto failure = handle->unusable(*scope.node, operation)) return call.fail(*std::move(failure));
    message.rrefs.push_back(handle->id());
    call.cancelled_by.push_back(handle->failure_token());
  }
  if (auto ended = scope.node->contexts().ended_for(scope, owner.name)) {
    ended->operation = operation;
    return call.fail(*std::move(ended));
  }
  if (scope.context) scope.node->contexts().called(*scope.context, owner.name);
  message.wanted = wanted;
  message.site = next_site(scope, owner.name);
  call.uses = handles;
  call.may_outlast_context = wanted == msg::Wanted::element;
  Request request{owner.name, "rref/" + handles.front()->id().text(), operation, due_of(scope), std::move(message)};
  request.site = site;
  request.life = owner.incarnation;
  request.nested = !scope.caller.empty();
  request.fails_if_unreachable = scope.unreachable == Unreachable::fail;
  call.send(std::move(request));
}

Scope without_context(const Scope& scope) {
  if (!scope.state().context) return scope;
  auto state = std::make_shared<ScopeState>(scope.state());
  state->context.reset();
  return Scope(std::move(state));
}

Scope lasting_scope(const Scope& scope) {
  auto state = std::make_shared<ScopeState>(scope.state());
  state->context.reset();
  state->due.reset();
  state->stop = {};
  state->open_calls.reset();
  state->answer_devices.reset();
  return Scope(std::move(state));  // with its caller: a served function may wait for these calls
}

std::vector<std::vector<std::size_t>> by_owner(const Handles& handles) {
  std::map<std::pair<NodeLife, std::size_t>, std::vector<std::size_t>> groups;
  std::map<std::shared_ptr<RRefHandle>, std::size_t> seen;
  for (std::size_t i = 0; i < handles.size(); ++i) groups[{handles[i]->owner(), seen[handles[i]]++}].push_back(i);
  std::vector<std::vector<std::size_t>> lists;
  for (auto& [owner, places] : groups) lists.push_back(std::move(places));
  return lists;
}

Future<std::string> type_of_value(const std::shared_ptr<ScopeState>& scope, const std::shared_ptr<RRefHandle>& handle,
                                  const SourceLocation& site) {
  const Promise<std::string> promise(future_home_of(*scope));
  Future<std::string> future = promise.future();
  if (const auto known = handle->known_type()) {
    promise.complete(*known);
    return future;
  }
  const auto call = OutgoingCall::make(scope, [promise, handle](const Result<std::shared_ptr<PayloadReader>>& reply) {
    auto type = reply ? read_string(*reply.value()) : Result<std::string>(reply.error());
    if (type) handle->learned_type(type.value());
    promise.complete(std::move(type));
  });
  call->count_as_open();
  call->cancelled_by = cancelling(*scope, future.state());
  fetch(*scope, {handle}, msg::Wanted::type, *call, site);
  return future;
}

namespace {

PinnedValue pinned_here(const ScopeState& scope, const std::shared_ptr<RRefHandle>& handle,
                        const std::type_info* wanted, UseKind kind) {
  NodeCore& node = *scope.node;
  const std::string operation = "local_value " + handle->id().text();
  if (auto failure = handle->unusable(*scope.node, operation)) throw RemoteError(*std::move(failure));
  if (!is_owner(*handle)) {
    throw RemoteError(
        not_run(node.error(ErrorCode::bad_argument, handle->owner().name, operation,
                           fmt::format("the value is on {}, this is {}", handle->owner().name, node.name()))));
  }
  const auto due = due_of(scope);
  const TurnId turn = node.references().next_turn();
  const Promise<PinnedValue> promise(node.future_home());
  const Future<PinnedValue> pinned = promise.future();
  node.references().use(handle->id(), turn, {kind, operation},
                        [promise](Result<ValueBox> value, std::shared_ptr<ValueUse> use) {
                          promise.complete(value ? Result<PinnedValue>(PinnedValue{value.value(), std::move(use)})
                                                 : Result<PinnedValue>(value.error()));
                        });
  const std::stop_callback cancel(scope.stop, [&] { pinned.cancel(); });
  const auto in_time = pinned.get_for(due ? *due - node.clock().now() : Duration::max());
  const bool is_late = !in_time && pinned.cancel();
  if (is_late || !pinned.state().result().ok()) node.references().withdraw(handle->id(), turn);
  if (is_late) {
    throw RemoteError(not_run(node.error(ErrorCode::timeout, node.name(), operation,
                                         "the value did not exist in time, or others had the turn on it")));
  }
  PinnedValue value = pinned.get();
  if (wanted != nullptr && value.box.ops->type != *wanted) {
    throw RemoteError(not_run(node.error(
        ErrorCode::bad_argument, node.name(), operation,
        fmt::format("the value is of type {}, not {}", type_name(value.box.ops->type), type_name(*wanted)))));
  }
  return value;
}

/// Returns a call that makes the value of `handle` and reports its result to `handle`. `target`: the value it runs on.
std::shared_ptr<OutgoingCall> creation(const CallEncoder& encoder, const std::shared_ptr<RRefHandle>& handle,
                                       const ForkId& fork, const std::shared_ptr<RRefHandle>& target) {
  try {
    return OutgoingCall::make(
        encoder.scope(), [handle, fork, target](const Result<std::shared_ptr<PayloadReader>>& made) {
          const auto node = handle->node_if_alive();
          if (node)
            node->references().creation_ended(*handle, fork, made ? Result<Unit>(Unit{}) : Result<Unit>(made.error()));
        });
  } catch (const std::bad_alloc&) {  // the owner will never hear of the fork
    const Error why = error_not_run(ErrorCode::resource_exhausted, "out of memory");
    encoder.scope()->node->references().creation_ended(*handle, fork, why);
    throw;
  }
}

}  // namespace

PinnedValue use_here(const ScopeState& scope, const std::shared_ptr<RRefHandle>& handle, const std::type_info* wanted) {
  return pinned_here(scope, handle, wanted, UseKind::changes);
}

PinnedValue read_here(const ScopeState& scope, const std::shared_ptr<RRefHandle>& handle,
                      const std::type_info* wanted) {
  return pinned_here(scope, handle, wanted, UseKind::reads);
}

std::shared_ptr<RRefHandle> remote(CallEncoder encoder, const std::string& type) {
  NodeCore& node = *encoder.scope()->node;
  const auto rref = node.next_id<RRefId>();
  ForkId fork;
  auto handle = node.references().created(rref, fork, encoder.to(), type, encoder.site());
  encoder.only_to(handle->owner().incarnation);
  encoder.create(rref, fork, *creation(encoder, handle, fork, nullptr));
  return handle;
}

std::shared_ptr<RRefHandle> remote_on(CallEncoder encoder, const std::shared_ptr<RRefHandle>& target,
                                      const std::string& type) {
  NodeCore& node = *encoder.scope()->node;
  const auto rref = node.next_id<RRefId>();
  ForkId fork;
  auto handle = node.references().created(rref, fork, encoder.to(), type, encoder.site());
  const auto call = creation(encoder, handle, fork, target);
  if (auto failure = target->unusable(*encoder.scope()->node, {})) {
    failure->operation = encoder.operation("remote", target->id());
    failure->execution = Execution::never;
    call->fail(*std::move(failure));
  } else {
    encoder.only_to(target->owner().incarnation);
    encoder.create_on(target->id(), rref, fork, *call);
  }
  return handle;
}

void call_on(CallEncoder encoder, const std::shared_ptr<RRefHandle>& target, OutgoingCall& call) {
  if (auto failure = target->unusable(*encoder.scope()->node, {})) {
    failure->operation = encoder.operation("rpc", target->id());
    return call.fail(*std::move(failure));
  }
  call.cancelled_by.push_back(target->failure_token());
  call.uses.push_back(target);
  encoder.only_to(target->owner().incarnation);
  encoder.call_on(target->id(), call);
}

std::shared_ptr<RRefHandle> own(const ScopeState& scope, ValueBox value, const std::string& type,
                                const SourceLocation& site) {
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

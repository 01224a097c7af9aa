#include "actors/rref.h"

#include <fmt/format.h>

#include "actors/contexts.h"
#include "actors/node_core.h"
#include "actors/references.h"

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

/// Passes an answer on and holds the reference until then: the owner keeps the value for as long. A reference that has
/// failed meanwhile says why better than its owner, who is gone or has forgotten a value that could not be made.
template <class Answer>
std::function<void(Result<Answer>)> with_own_failure(std::shared_ptr<RRefHandle> handle, std::string operation,
                                                     std::function<void(Result<Answer>)> done) {
  return [handle = std::move(handle), operation = std::move(operation), done = std::move(done)](Result<Answer> answer) {
    const auto node = answer ? nullptr : handle->node_if_alive();
    auto failure = node ? node->references().failure(*handle) : std::nullopt;
    if (!failure) return done(std::move(answer));
    failure->operation = operation;
    done(*std::move(failure));
  };
}

}  // namespace

void fetch(const ScopeState& scope, const std::shared_ptr<RRefHandle>& handle, ReplyHandler done,
           std::vector<std::stop_token> cancelled_by) {
  const std::string operation = "to_here " + handle->id().text();
  if (auto failure = unusable(scope, *handle, operation)) return done(*std::move(failure));
  if (scope.context) scope.node->contexts().called(*scope.context, handle->owner().name);
  msg::RRefFetch message{handle->id(), next_site(scope)};
  scope.node->request({handle->owner().name, "rref/" + handle->id().text(), operation, due_of(scope), std::move(message),
                       std::move(cancelled_by)},
                      expect_reply(scope.node, handle->owner().name, with_own_failure(handle, operation, std::move(done))));
}

void use_here(const ScopeState& scope, const std::shared_ptr<RRefHandle>& handle,
              std::function<void(Result<ValueBox>, std::shared_ptr<ValueUse>)> begin) {
  if (auto failure = unusable(scope, *handle, "local_value " + handle->id().text())) return begin(*std::move(failure), nullptr);
  if (!is_owner(*handle)) {
    return begin(scope.node->error(ErrorCode::bad_argument, handle->owner().name, "local_value " + handle->id().text(),
                                   fmt::format("the value is on {}, this is {}", handle->owner().name, scope.node->name())),
                 nullptr);
  }
  scope.node->references().use(handle->id(), std::move(begin));
}

std::shared_ptr<RRefHandle> remote(CallEncoder encoder, std::string type) {
  NodeCore& node = *encoder.scope()->node;
  const auto rref = node.next_id<RRefId>();
  ForkId fork;
  auto handle = node.references().created(rref, fork, encoder.to(), std::move(type));
  encoder.create(rref, fork, [handle, fork](const Result<Unit>& result) {
    if (const auto core = handle->node_if_alive()) core->references().creation_ended(*handle, fork, result);
  });
  return handle;
}

std::shared_ptr<RRefHandle> remote_on(CallEncoder encoder, const std::shared_ptr<RRefHandle>& target, std::string type) {
  NodeCore& node = *encoder.scope()->node;
  const auto rref = node.next_id<RRefId>();
  ForkId fork;
  auto handle = node.references().created(rref, fork, encoder.to(), std::move(type));
  auto created = [handle, fork, target](const Result<Unit>& result) {
    if (const auto core = handle->node_if_alive()) core->references().creation_ended(*handle, fork, result);
  };
  if (auto failure = unusable(*encoder.scope(), *target, "remote on " + target->id().text())) {
    failure->execution = Execution::never;
    created(*failure);
  } else {
    encoder.create_on(target->id(), rref, fork, std::move(created));
  }
  return handle;
}

void call_on(CallEncoder encoder, const std::shared_ptr<RRefHandle>& target, ReplyHandler done) {
  const std::string operation = "rpc on " + target->id().text();
  if (auto failure = unusable(*encoder.scope(), *target, operation)) return done(*std::move(failure));
  encoder.call_on(target->id(), with_own_failure(target, operation, std::move(done)));
}

std::shared_ptr<RRefHandle> own(const ScopeState& scope, ValueBox value, std::string type) {
  return scope.node->references().own(std::move(value), std::move(type));
}

bool is_owner(const RRefHandle& handle) {
  const auto node = handle.node();
  return handle.owner() == NodeLife{node->name(), node->incarnation()};
}

bool is_confirmed(const RRefHandle& handle) { return handle.node()->references().is_confirmed(handle); }

std::string text_of(const RRefHandle& handle) {
  return fmt::format("RRef<{}> {} on {}", handle.type(), handle.id().text(), handle.owner().name);
}

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

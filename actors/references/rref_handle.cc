#include "actors/references/rref_handle.h"

#include <fmt/format.h>

#include <new>
#include <utility>

#include "actors/calls/scope_state.h"
#include "actors/core/error_not_run.h"
#include "actors/core/guarded.h"
#include "actors/core/node_core.h"
#include "actors/references/references.h"

namespace troupe::detail {

RRefHandle::RRefHandle(std::weak_ptr<NodeCore> node, RRefId id, NodeLife owner, std::string type, RRefOrigin origin)
    : node_(std::move(node)),
      id_(std::move(id)),
      owner_(std::move(owner)),
      type_(std::move(type)),
      origin_(std::move(origin)) {}

std::string RRefHandle::text() const { return fmt::format("RRef<{}> {} on {}", type_, id_.text(), owner_.name); }

std::string RRefHandle::origin() const {
  if (const auto* site = std::get_if<SourceLocation>(&origin_))
    return fmt::format("made at {}:{}", site->file_name(), site->line());
  return "received from " + std::get<NodeName>(origin_);
}

std::optional<std::string> RRefHandle::known_type() const {
  std::lock_guard lock(mutex_);
  return known_type_;
}

void RRefHandle::learned_type(std::string type) {
  std::lock_guard lock(mutex_);
  known_type_ = std::move(type);
}

std::optional<Error> RRefHandle::unusable(const NodeCore& through, const std::string& operation) const {
  const auto own = node();
  if (own.get() != &through) {
    return not_run(own->error(ErrorCode::bad_argument, own->name(), operation,
                              fmt::format("a reference of node {} is used through a scope of node {}: send it there",
                                          own->name(), through.name())));
  }
  auto failure = own->references().failure(*this);
  if (failure) failure->operation = operation;
  return failure;
}

std::shared_ptr<const void> RRefHandle::kept_copy(const ScopeState& through) const {
  auto copy = copies_.get();
  if (!copy) return nullptr;
  if (auto failure = unusable(*through.node, "cached")) {
    failure->operation = fmt::format("cached {}", id_.text());
    throw RemoteError(*std::move(failure));
  }
  return copy;
}

RRefHandle::~RRefHandle() {
  const auto node = node_if_alive();
  if (!node) return;
  auto [copy, end] = copies_.take();
  node->references().discard(id_, end, std::move(copy));
  try {
    node->references().dropped(id_, owner_, holds_.load(std::memory_order_relaxed));
  } catch (const std::bad_alloc&) {  // its owner would count the handle for ever
    node->fail(failure_of_current_exception("a reference"));
  }
}

std::shared_ptr<NodeCore> RRefHandle::node_if_alive() const {
  auto node = node_.lock();
  return node && !node->stopped() ? node : nullptr;
}

std::shared_ptr<NodeCore> RRefHandle::node() const {
  auto node = node_.lock();
  if (node && !node->stopped()) return node;
  const std::string operation = "rref " + id_.text();
  if (node && !node->is_of_this_process()) throw RemoteError(not_run(node->stopped_error(owner_.name, operation)));
  Error error;
  error.code = ErrorCode::shutting_down;
  error.message = "the node that held this reference has shut down";
  error.peer = owner_.name;
  error.operation = operation;
  error.execution = Execution::never;
  throw RemoteError(std::move(error));
}

}  // namespace troupe::detail

#include "actors/call_encoder.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <stdexcept>
#include <variant>

#include "actors/function_registry.h"
#include "actors/node_core.h"

namespace troupe::detail {
namespace {

/// The earlier of the scope's end and the call's own limit; nothing if neither is set.
std::optional<TimePoint> due_of(const ScopeState& scope) {
  std::optional<TimePoint> due = scope.due;
  if (!scope.unlimited || scope.call_deadline) {
    const TimePoint own = scope.node->clock().now() + scope.call_deadline.value_or(kDefaultDeadline);
    due = due ? std::min(*due, own) : own;
  }
  return due;
}

void warn_cut_graph(const NodeCore& node, const std::string& function, const std::source_location& site) {
  spdlog::warn("[{}] {}:{}: a Variable that requires a gradient goes to \"{}\" outside a DistContext: no gradient comes back",
               node.name(), site.file_name(), site.line(), function);
}

}  // namespace

CallEncoder::CallEncoder(std::shared_ptr<const ScopeState> scope, NodeName to, std::source_location site,
                         const CallableKey& callable)
    : scope_(std::move(scope)), to_(std::move(to)), site_(site), function_(scope_->node->functions().find(callable)) {
  if (function_ == nullptr) {
    throw std::invalid_argument(fmt::format("[rpc] this callable is not in the registry of {}; registered: {}",
                                            scope_->node->name(), fmt::join(scope_->node->functions().names(), ", ")));
  }
  writer_ = std::make_unique<PayloadWriter>(scope_, to_);
}

template <class Message>
void CallEncoder::fill(Message& message) {
  message.function = function_->key;
  message.function_name = function_->name;
  message.fingerprint = function_->fingerprint;
  message.site.context = scope_->context;
  const auto indices = scope_->path->child(scope_->counters->next_call.fetch_add(1, std::memory_order_relaxed));
  message.site.path.assign(indices.indices().begin(), indices.indices().end());
  message.site.trace = scope_->trace;
  if (!failure_) message.arguments = writer_->finish();
  if (writer_->cut_a_graph() && scope_->node->first_warning_at(site_)) warn_cut_graph(*scope_->node, function_->name, site_);
}

template <class Message>
void CallEncoder::send(Message message, std::string actor, std::function<void(Result<msg::AnyMessage>)> done) {
  fill(message);
  if (failure_) {
    Error error = *failure_;
    error.operation = "rpc " + function_->name;
    error.peer = to_;
    done(std::move(error));
    return;
  }
  scope_->node->request({to_, std::move(actor), "rpc " + function_->name, due_of(*scope_), std::move(message)}, std::move(done));
}

namespace {

AnswerHandler expect_reply(std::shared_ptr<NodeCore> node, NodeName from, ReplyHandler done) {
  return [node = std::move(node), from = std::move(from), done = std::move(done)](Result<msg::AnyMessage> answer) {
    if (!answer) return done(answer.error());
    auto* reply = std::get_if<msg::Reply>(&answer.value());
    if (reply == nullptr) {
      return done(node->error(ErrorCode::protocol_violation, from, "rpc", "the answer to a call is not a Reply"));
    }
    done(std::make_shared<PayloadReader>(node, from, std::move(reply->value)));
  };
}

AnswerHandler expect_created(std::function<void(Result<Unit>)> done) {
  return [done = std::move(done)](Result<msg::AnyMessage> answer) {
    if (!answer) return done(answer.error());
    done(Unit{});
  };
}

}  // namespace

void CallEncoder::call(ReplyHandler done) {
  send(msg::Call{}, "worker", expect_reply(scope_->node, to_, std::move(done)));
}

void CallEncoder::create(const RRefId& rref, const ForkId& fork, std::function<void(Result<Unit>)> done) {
  msg::RemoteCall message;
  message.rref = rref;
  message.fork = fork;
  send(std::move(message), "worker", expect_created(std::move(done)));
}

void CallEncoder::call_on(const RRefId& rref, ReplyHandler done) {
  msg::ValueCall message;
  message.rref = rref;
  send(std::move(message), "rref/" + rref.text(), expect_reply(scope_->node, to_, std::move(done)));
}

void CallEncoder::create_on(const RRefId& rref, const RRefId& result, const ForkId& fork,
                            std::function<void(Result<Unit>)> done) {
  msg::ValueCall message;
  message.rref = rref;
  message.keep_as = msg::NewRRef{result, fork};
  send(std::move(message), "rref/" + rref.text(), expect_created(std::move(done)));
}

Error error_of_encoding(const NodeCore& node, const std::exception& exception) {
  Error error;
  const auto* encoding = dynamic_cast<const EncodeError*>(&exception);
  error.code = encoding != nullptr ? encoding->code() : ErrorCode::not_serializable;
  error.message = exception.what();
  error.execution = Execution::never;
  error.peer = node.name();
  return error;
}

FutureHome future_home_of(const ScopeState& scope) { return scope.node->future_home(); }

}  // namespace troupe::detail

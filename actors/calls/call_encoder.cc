#include "actors/calls/call_encoder.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <stdexcept>
#include <type_traits>
#include <variant>

#include "actors/calls/function_table.h"
#include "actors/calls/open_calls.h"
#include "actors/calls/outgoing_call.h"
#include "actors/contexts/contexts.h"
#include "actors/core/node_core.h"
#include "actors/core/request.h"
#include "actors/core/type_name.h"
#include "actors/membership/membership.h"
#include "actors/references/references.h"

namespace troupe::detail {
namespace {

void warn_cut_graph(const NodeCore& node, const std::string& function, const SourceLocation& site) {
  spdlog::warn(
      "[{}] {}:{}: a Variable that requires a gradient goes to \"{}\" outside a DistContext: no gradient comes back",
      node.name(), site.file_name(), site.line(), function);
}

}  // namespace

CallEncoder::CallEncoder(std::shared_ptr<const ScopeState> scope, Result<NodeName> to, SourceLocation site,
                         const CallableKey& callable)
    : scope_(std::move(scope)), site_(site), function_(scope_->node->functions().find(callable)) {
  if (to) to_ = std::move(to).value();
  else failure_ = to.error();
  if (function_ == nullptr) {
    throw std::invalid_argument(fmt::format("[rpc] this callable, a {}, is not in the registry of {}; registered: {}",
                                            type_name(callable.type), scope_->node->name(),
                                            fmt::join(scope_->node->functions().names(), ", ")));
  }
  writer_ = std::make_unique<PayloadWriter>(scope_, NodeLife{to_, {}}, scope_->node->device_maps().of(to_));
}

CallEncoder::CallEncoder(CallEncoder&&) noexcept = default;
CallEncoder& CallEncoder::operator=(CallEncoder&&) noexcept = default;
CallEncoder::~CallEncoder() = default;

void CallEncoder::failed_to_encode(const EncodeError& error) { failure_ = error_of_encoding(*scope_->node, error); }

/// Sets the common fields of Call, RemoteCall and ValueCall, and sends.
struct CallSender {
  CallEncoder& encoder;
  OutgoingCall& call;

  template <class Message>
  void send(Message message, std::string actor) {
    const std::string operation = "rpc " + encoder.function_->name;
    const ScopeState& scope = *encoder.scope_;
    NodeCore& node = *scope.node;
    if (auto ended = node.contexts().ended_for(scope, encoder.to_)) encoder.failure_ = std::move(ended);
    if (encoder.failure_ && !node.stopped()) {
      Error error = *std::move(encoder.failure_);
      error.operation = operation;
      error.peer = encoder.to_;
      error.execution = Execution::never;
      return call.fail(std::move(error));
    }
    fill(message, operation);
    if (encoder.writer_->cut_a_graph()) {
      const SourceLocation& site = encoder.site_;
      call.cuts_graph_at = fmt::format("\"{}\" at {}:{}", encoder.function_->name, site.file_name(), site.line());
      if (node.first_warning_at(site)) warn_cut_graph(node, encoder.function_->name, site);
    }
    const std::optional<Incarnation> life = encoder.life_ ? encoder.life_ : encoder.writer_->handed_out_to();
    call.handed_out = encoder.writer_->hand_over();
    Request request{encoder.to_, std::move(actor), operation, due_of(scope), std::move(message)};
    request.site = encoder.site_;
    request.life = life;
    request.nested = !scope.caller.empty();
    request.fails_if_unreachable = scope.unreachable == Unreachable::fail;
    call.send(std::move(request));
  }

 private:
  template <class Message>
  void fill(Message& message, const std::string& operation) {
    const ScopeState& scope = *encoder.scope_;
    message.function = encoder.function_->key;
    message.function_name = encoder.function_->name;
    message.fingerprint = encoder.function_->fingerprint;
    message.site = next_site(scope, encoder.to_);
    message.arguments = encoder.writer_->finish("arguments", operation);
    // A boundary makes the callee take part.
    if (scope.context && !message.arguments.boundary) scope.node->contexts().called(*scope.context, encoder.to_);
  }
};

Result<NodeName> name_of(const ScopeState& scope, std::int64_t rank) {
  auto info = scope.node->membership().info(rank);
  if (!info) return info.error();
  return std::move(info).value().name;
}

msg::CallSite next_site(const ScopeState& scope, const NodeName& to) {
  CallPath path = scope.path->child(scope.counters->next_call.fetch_add(1, std::memory_order_relaxed));
  const auto devices = scope.node->device_maps().of(to);
  return {scope.context, std::move(path).take(), scope.trace, scope.priority,
          devices ? std::optional(devices->inverse()) : std::nullopt};
}

void CallEncoder::call(OutgoingCall& call) { CallSender{*this, call}.send(msg::Call{}, "worker"); }

void CallEncoder::call_as(std::string reported_as, OutgoingCall& call) {
  call.reported_as = std::move(reported_as);
  this->call(call);
}

void CallEncoder::create(const RRefId& rref, const ForkId& fork, OutgoingCall& call) {
  msg::RemoteCall message;
  message.rref = rref;
  message.fork = fork;
  message.sharing = scope_->sharing;
  call.makes_value = true;
  CallSender{*this, call}.send(std::move(message), "worker");
}

void CallEncoder::call_on(const RRefId& rref, OutgoingCall& call) {
  msg::ValueCall message;
  message.rref = rref;
  CallSender{*this, call}.send(std::move(message), "rref/" + rref.text());
}

void CallEncoder::create_on(const RRefId& rref, const RRefId& result, const ForkId& fork, OutgoingCall& call) {
  msg::ValueCall message;
  message.rref = rref;
  message.keep_as = msg::NewRRef{result, fork, scope_->sharing};
  call.makes_value = true;
  CallSender{*this, call}.send(std::move(message), "rref/" + rref.text());
}

std::string CallEncoder::operation(std::string_view kind, const RRefId& rref) const {
  return fmt::format("{} {} on {}", kind, function_->name, rref.text());
}

std::vector<std::stop_token> cancelling(const ScopeState& scope, const FutureCore& future) {
  std::vector<std::stop_token> tokens{future.stop_token()};
  if (scope.stop.stop_possible()) tokens.push_back(scope.stop);
  if (scope.open_calls) tokens.push_back(scope.open_calls->stop_token());
  return tokens;
}

namespace {

std::shared_ptr<OutgoingCall> call_answered_by(std::shared_ptr<const ScopeState> scope, const FutureCore& future,
                                               ReplyHandler done) {
  std::vector<std::stop_token> tokens = cancelling(*scope, future);
  auto call = OutgoingCall::make(std::move(scope), std::move(done));
  call->count_as_open();
  call->cancelled_by = std::move(tokens);
  return call;
}

}  // namespace

std::shared_ptr<OutgoingCall> call_for(std::shared_ptr<const ScopeState> scope, std::shared_ptr<FutureCore> future) {
  FutureCore& core = *future;
  return call_answered_by(std::move(scope), core,
                          [future = std::move(future)](Result<std::shared_ptr<PayloadReader>> reply) {
                            if (reply) future->complete_later(std::move(reply).value());
                            else future->fail(copy_of(reply.error()));
                          });
}

std::shared_ptr<OutgoingCall> call_for_values(std::shared_ptr<const ScopeState> scope,
                                              std::shared_ptr<FutureCore> future, std::size_t count) {
  FutureCore& core = *future;
  return call_answered_by(
      std::move(scope), core, [future = std::move(future), count](Result<std::shared_ptr<PayloadReader>> reply) {
        if (!reply) future->fail(copy_of(reply.error()));
        else future->complete_later(std::make_shared<ArrivedValues>(ArrivedValues{std::move(reply).value(), count}));
      });
}

FutureHome future_home_of(const ScopeState& scope) { return scope.node->future_home(); }

}  // namespace troupe::detail

#include "actors/calls/call_encoder.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <stdexcept>
#include <type_traits>
#include <variant>

#include "actors/calls/function_table.h"
#include "actors/calls/open_calls.h"
#include "actors/contexts/contexts.h"
#include "actors/core/node_core.h"
#include "actors/membership/membership.h"
#include "actors/references/references.h"

namespace troupe::detail {
namespace {

/// Takes the handles in a message back if it never left. Those in a call that was refused its callee has let go: to take
/// them back as well does no harm.
AnswerHandler undo_if_unsent(NodeCore& node, std::vector<msg::RRefHandout> refs, AnswerHandler done) {
  return [core = node.weak_from_this(), refs = std::move(refs), done = std::move(done)](Result<msg::AnyMessage> answer) {
    const auto alive = core.lock();
    if (!answer && answer.error().execution == Execution::never && alive) {
      for (const msg::RRefHandout& handout : refs) alive->references().take_back(handout);
    }
    done(std::move(answer));
  };
}

AnswerHandler expect_created(std::function<void(Result<Unit>)> done) {
  return [done = std::move(done)](Result<msg::AnyMessage> answer) {
    if (!answer) return done(answer.error());
    done(Unit{});
  };
}

void warn_cut_graph(const NodeCore& node, const std::string& function, const SourceLocation& site) {
  spdlog::warn("[{}] {}:{}: a Variable that requires a gradient goes to \"{}\" outside a DistContext: no gradient comes back",
               node.name(), site.file_name(), site.line(), function);
}

}  // namespace

CallEncoder::CallEncoder(std::shared_ptr<const ScopeState> scope, NodeName to, SourceLocation site,
                         const CallableKey& callable)
    : scope_(std::move(scope)), to_(std::move(to)), site_(site), function_(scope_->node->functions().find(callable)) {
  if (function_ == nullptr) {
    throw std::invalid_argument(fmt::format("[rpc] this callable is not in the registry of {}; registered: {}",
                                            scope_->node->name(), fmt::join(scope_->node->functions().names(), ", ")));
  }
  writer_ = std::make_unique<PayloadWriter>(scope_, NodeLife{to_, {}}, scope_->node->device_maps().of(to_));
}

/// Fills in what Call, RemoteCall and ValueCall have in common, and sends.
struct CallSender {
  CallEncoder& call;

  template <class Message>
  void send(Message message, std::string actor, AnswerHandler done) {
    const std::string operation = "rpc " + call.function_->name;
    NodeCore& node = *call.scope_->node;
    if (call.failure_ && !node.stopped()) {
      Error error = *std::move(call.failure_);
      error.operation = operation;
      error.peer = call.to_;
      done(std::move(error));
      return;
    }
    fill(message);
    if (call.writer_->cut_a_graph() && node.first_warning_at(call.site_)) {
      warn_cut_graph(node, call.function_->name, call.site_);
    }
    if (!message.arguments.refs.empty()) done = undo_if_unsent(node, message.arguments.refs, std::move(done));
    const bool carries = !message.arguments.refs.empty() || call.scope_->context;
    Request request{call.to_, std::move(actor), operation, due_of(*call.scope_), std::move(message), std::move(call.cancelled_by_)};
    request.site = call.site_;
    request.life = call.life_ ? call.life_ : call.writer_->handed_out_to();
    request.nested = !call.scope_->caller.empty();
    request.fails_if_unreachable = call.scope_->unreachable == Unreachable::fail;
    if constexpr (std::is_same_v<Message, msg::Call>) {  // what makes or uses a value somewhere is never repeated
      if (call.scope_->idempotency != Idempotency::at_most_once) return send_repeatedly(std::move(request), carries, std::move(done));
    }
    node.request(std::move(request), std::move(done));
  }

 private:
  void send_repeatedly(Request request, bool carries, AnswerHandler done) {
    const ScopeState& scope = *call.scope_;
    if (!carries) return request_repeatedly(scope.node, std::move(request), scope.idempotency, scope.retry, std::move(done));
    Error error = scope.node->error(ErrorCode::bad_argument, call.to_, request.operation,
                                    "a call that may be made again cannot carry references or belong to a context");
    error.execution = Execution::never;
    done(std::move(error));
  }

  template <class Message>
  void fill(Message& message) {
    const ScopeState& scope = *call.scope_;
    message.function = call.function_->key;
    message.function_name = call.function_->name;
    message.fingerprint = call.function_->fingerprint;
    if (scope.context) scope.node->contexts().called(*scope.context, call.to_);
    message.site = next_site(scope, call.to_);
    message.arguments = call.writer_->finish();
  }
};

Result<NodeName> name_of(const ScopeState& scope, std::int64_t rank) {
  auto info = scope.node->membership().info(rank);
  if (!info) return info.error();
  return std::move(info).value().name;
}

msg::CallSite next_site(const ScopeState& scope, const NodeName& to) {
  const CallPath path = scope.path->child(scope.counters->next_call.fetch_add(1, std::memory_order_relaxed));
  const auto devices = scope.node->device_maps().of(to);
  return {scope.context, {path.indices().begin(), path.indices().end()}, scope.trace, scope.priority,
          devices ? std::optional(devices->inverse()) : std::nullopt};
}

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

ReplyHandler CallEncoder::naming_the_cut(ReplyHandler done) const {
  if (!writer_->cut_a_graph()) return done;
  return [call = fmt::format("\"{}\" at {}:{}", function_->name, site_.file_name(), site_.line()),
          done = std::move(done)](Result<std::shared_ptr<PayloadReader>> reply) {
    if (reply) reply.value()->cut_off_by(call);
    done(std::move(reply));
  };
}

void CallEncoder::call(ReplyHandler done) {
  CallSender{*this}.send(msg::Call{}, "worker", expect_reply(scope_->node, to_, naming_the_cut(std::move(done))));
}

void CallEncoder::create(const RRefId& rref, const ForkId& fork, std::function<void(Result<Unit>)> done) {
  msg::RemoteCall message;
  message.rref = rref;
  message.fork = fork;
  message.sharing = scope_->sharing;
  CallSender{*this}.send(std::move(message), "worker", expect_created(std::move(done)));
}

void CallEncoder::call_on(const RRefId& rref, ReplyHandler done) {
  msg::ValueCall message;
  message.rref = rref;
  CallSender{*this}.send(std::move(message), "rref/" + rref.text(), expect_reply(scope_->node, to_, naming_the_cut(std::move(done))));
}

void CallEncoder::create_on(const RRefId& rref, const RRefId& result, const ForkId& fork,
                            std::function<void(Result<Unit>)> done) {
  msg::ValueCall message;
  message.rref = rref;
  message.keep_as = msg::NewRRef{result, fork, scope_->sharing};
  CallSender{*this}.send(std::move(message), "rref/" + rref.text(), expect_created(std::move(done)));
}

std::vector<std::stop_token> cancelling(const ScopeState& scope, const FutureCore& future) {
  std::vector<std::stop_token> tokens{future.stop_token()};
  if (scope.stop.stop_possible()) tokens.push_back(scope.stop);
  if (scope.open_calls) tokens.push_back(scope.open_calls->stop_token());
  return tokens;
}

ReplyHandler counted(const ScopeState& scope, ReplyHandler done) {
  if (!scope.open_calls) return done;
  return [open = std::make_shared<OpenCall>(scope.open_calls), done = std::move(done)](Result<std::shared_ptr<PayloadReader>> reply) {
    const std::optional<Error> error = reply ? std::nullopt : std::optional(reply.error());
    done(std::move(reply));
    open->ended(error ? &*error : nullptr);
  };
}

FutureHome future_home_of(const ScopeState& scope) { return scope.node->future_home(); }

}  // namespace troupe::detail

#include "actors/calls/outgoing_call.h"

#include <utility>
#include <variant>

#include "actors/calls/payload_io.h"
#include "actors/core/node_core.h"
#include "actors/references/references.h"
#include "actors/retry.h"

namespace troupe::detail {

void OutgoingCall::count_as_open() {
  if (scope_->open_calls) open_.emplace(scope_->open_calls);
}

void OutgoingCall::send(Request request) {
  to_ = request.to;
  operation_ = request.operation;
  request.cancelled_by = std::move(cancelled_by);
  const bool is_plain = std::holds_alternative<msg::Call>(request.message);  // what makes or uses a value is never repeated
  if (!is_plain || scope_->idempotency == Idempotency::at_most_once) return scope_->node->request(std::move(request), on_answer());
  if (handed_out.empty() && !scope_->context) {
    return request_repeatedly(scope_->node, std::move(request), scope_->idempotency, scope_->retry, on_answer());
  }
  Error error = scope_->node->error(ErrorCode::bad_argument, to_, operation_,
                                    "a call that may be made again cannot carry references or belong to a context");
  error.execution = Execution::never;
  answered(std::move(error));
}

void OutgoingCall::fail(Error error) {
  operation_ = error.operation;
  end(std::move(error));
}

AnswerHandler OutgoingCall::on_answer() {
  return [call = shared_from_this()](Result<msg::AnyMessage> answer) { call->answered(std::move(answer)); };
}

void OutgoingCall::answered(Result<msg::AnyMessage> answer) {
  const std::shared_ptr<NodeCore>& node = scope_->node;
  if (!answer) {
    // The callee of a call that was refused has let go of them: to take them back as well does no harm.
    if (answer.error().execution == Execution::never) {
      for (const msg::RRefHandout& handout : handed_out) node->references().take_back(handout);
    }
    return end(answer.error());
  }
  if (makes_value) return end(std::shared_ptr<PayloadReader>());
  auto* reply = std::get_if<msg::Reply>(&answer.value());
  if (reply == nullptr) return end(node->error(ErrorCode::protocol_violation, to_, "rpc", "the answer to a call is not a Reply"));
  auto reader = std::make_shared<PayloadReader>(node, to_, std::move(reply->value));
  if (!cuts_graph_at.empty()) reader->cut_off_by(cuts_graph_at);
  end(std::move(reader));
}

void OutgoingCall::end(Result<std::shared_ptr<PayloadReader>> reply) {
  if (!reply) {
    for (const auto& handle : uses) {
      const auto node = handle->node_if_alive();
      auto failure = node ? node->references().failure(*handle) : std::nullopt;
      if (!failure) continue;
      failure->operation = operation_;
      reply = *std::move(failure);
      break;
    }
  }
  const std::optional<Error> error = reply ? std::nullopt : std::optional(reply.error());
  const ReplyHandler done = std::exchange(done_, nullptr);
  done(std::move(reply));
  uses.clear();
  if (open_) open_->ended(error ? &*error : nullptr);
}

}  // namespace troupe::detail

#include "actors/calls/outgoing_call.h"

#include <algorithm>
#include <new>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "actors/calls/payload_io.h"
#include "actors/calls/repetition.h"
#include "actors/core/node_core.h"
#include "actors/references/references.h"

namespace troupe::detail {

namespace {

/// Returns `error`; of a use that was not over in time, of a value of this node, it says what may have had the turn.
Error with_hint_of_turn(Error error, const std::vector<std::shared_ptr<RRefHandle>>& uses) {
  const auto is_here = [](const std::shared_ptr<RRefHandle>& handle) {
    const auto node = handle->node_if_alive();
    return node && handle->owner() == NodeLife{node->name(), node->incarnation()};
  };
  if (error.code == ErrorCode::timeout && error.hint.empty() && std::any_of(uses.begin(), uses.end(), is_here))
    error.hint = kHintOfTurn;
  return error;
}

/// Returns the path of the call that the message makes.
std::span<const std::uint32_t> path_of(const msg::AnyMessage& message) {
  std::span<const std::uint32_t> path;
  message.visit([&](const auto& call) {
    if constexpr (requires { call.site.path; }) path = call.site.path;
  });
  return path;
}

/// Returns the operation for a profile, which adds up what has one name: a fetch without the value's id.
std::string_view profiled(const std::string& operation, const msg::AnyMessage& message) {
  const std::string_view all = operation;
  return message.holds<msg::RRefFetch>() ? all.substr(0, all.find(' ')) : all;
}

}  // namespace

class OutgoingCall::AnsweredCall final : public OutgoingCall, public AnswerReceiver {
 public:
  AnsweredCall(std::shared_ptr<const ScopeState> scope, ReplyHandler done)
      : OutgoingCall(std::move(scope), std::move(done)) {}

  void answered(Result<msg::AnyMessage> answer) override {
    const std::shared_ptr<NodeCore>& node = scope_->node;
    if (!answer) {
      // A callee that read the call has counted its references and returns them itself. It may rely on one of them for
      // other handles of the value, even if it refused the call.
      if (answer.error().execution == Execution::never) take_back_handed_out();
      return end(copy_of(answer.error()));
    }
    if (auto* failure = answer.value().get_if<msg::Failure>()) return end(std::move(failure->error));
    if (makes_value) return end(std::shared_ptr<PayloadReader>());
    auto* reply = answer.value().get_if<msg::Reply>();
    if (reply == nullptr)
      return end(node->error(ErrorCode::protocol_violation, to_, "rpc", "the answer to a call is not a Reply"));
    try {
      auto reader = std::make_shared<PayloadReader>(node, to_, std::move(reply->value));
      if (!cuts_graph_at.empty()) reader->cut_off_by(cuts_graph_at);
      if (may_outlast_context) reader->may_outlast_context();
      reader->answers(operation_);
      end(std::move(reader));
    } catch (...) {                                                       // concerns this call only
      std::ignore = node->references().received(reply->value.refs, to_);  // what was not read is released
      Error error = error_of_decoding();
      error.peer = to_;
      error.operation = operation_;
      end(std::move(error));
    }
  }
};

std::shared_ptr<OutgoingCall> OutgoingCall::make(std::shared_ptr<const ScopeState> scope, ReplyHandler done) {
  return std::make_shared<AnsweredCall>(std::move(scope), std::move(done));
}

OutgoingCall::OutgoingCall(std::shared_ptr<const ScopeState> scope, ReplyHandler done)
    : scope_(std::move(scope)), done_(std::move(done)) {}

OutgoingCall::~OutgoingCall() {
  if (!done_) return;
  if (!was_sent_) take_back_handed_out();
  Error error = make_error(ErrorCode::resource_exhausted, "out of memory");
  error.execution = was_sent_ ? Execution::maybe : Execution::never;
  event_.end();
  if (open_) open_->ended(&error);
  done_(std::move(error));
}

void OutgoingCall::take_back_handed_out() noexcept { handed_out.take_back(*scope_->node); }

void OutgoingCall::count_as_open() {
  if (scope_->open_calls) open_.emplace(scope_->open_calls);
}

void OutgoingCall::send(Request request) {
  to_ = request.to;
  operation_ = request.operation;
  event_ = OpenEvent::of_call(*scope_, makes_value ? "remote" : "", profiled(operation_, request.message), to_,
                              path_of(request.message));
  request.cancelled_by = std::move(cancelled_by);
  request.failure_as_message = !handed_out.handles.empty();
  const auto self = std::static_pointer_cast<AnsweredCall>(shared_from_this());
  const bool is_plain = request.message.holds<msg::Call>();  // others are never repeated
  if (!is_plain || scope_->repeat == Repeat::never) {
    scope_->node->request(std::move(request), AnswerHandler(self));
    was_sent_ = true;
    return;
  }
  if (handed_out.handles.empty() && !scope_->context) {
    request_repeatedly(scope_->node, std::move(request), scope_->repeat, scope_->retry, AnswerHandler(self));
    was_sent_ = true;
    return;
  }
  Error error = scope_->node->error(ErrorCode::bad_argument, to_, operation_,
                                    "a call that may be made again cannot carry references or belong to a context");
  error.execution = Execution::never;
  self->answered(std::move(error));
}

void OutgoingCall::fail(Error error) {
  operation_ = error.operation;
  end(std::move(error));
}

/// Returns the failure of a value that the call uses, if there is one; otherwise `error` with what may help.
Error OutgoingCall::explained(const Error& error) const {
  if (!reported_as.empty()) {
    Error reported = error;
    reported.operation = reported_as;
    return reported;
  }
  for (const auto& handle : uses) {
    const auto node = handle->node_if_alive();
    auto failure = node ? node->references().failure(*handle) : std::nullopt;
    if (!failure) continue;
    failure->operation = operation_;
    return with_hint_of_turn(*std::move(failure), uses);
  }
  return with_hint_of_turn(error, uses);
}

void OutgoingCall::end(Result<std::shared_ptr<PayloadReader>> reply) {
  if (!reply) {
    try {
      reply = explained(reply.error());
    } catch (const std::bad_alloc&) {  // who waits is told without an explanation
    }
  }
  const std::optional<Error> error = reply ? std::nullopt : std::optional(copy_of(reply.error()));
  const ReplyHandler done = std::exchange(done_, nullptr);
  event_.end();  // before its caller goes on, who may end the profile
  done(std::move(reply));
  uses.clear();
  if (open_) open_->ended(error ? &*error : nullptr);
}

}  // namespace troupe::detail

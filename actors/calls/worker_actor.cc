#include "actors/calls/worker_actor.h"

#include <memory>
#include <utility>
#include <variant>

#include "actors/calls/serve.h"
#include "actors/core/error_not_run.h"
#include "actors/core/peer_accounts.h"

namespace troupe::detail {
namespace {

void run(const std::shared_ptr<const ServedCall>& call) {
  if (call->function->is_member) {
    return call->answer.fail(not_run(call->node->error(ErrorCode::bad_argument, call->node->name(), call->operation,
                                                       "a member function is called on an RRef")));
  }
  run_function(call, {}, [call](const Result<ValueBox>& value) {
    value ? answer_with_value(*call, value.value()) : call->answer.fail(value.error());
  });
}

void submit(const std::shared_ptr<ServedCall>& call, std::function<void()> job) {
  call->node->run(
      call->operation + " for " + call->caller, std::move(job),
      [call](const Error& refused) { call->answer.fail(copy_of(refused)); }, call->scope->priority);
}

void serve(NodeCore& node, const Delivery& delivery, msg::Call message) {
  auto opened = open_call(node, delivery, {message.function, std::move(message.function_name), message.fingerprint},
                          std::move(message.arguments), message.site, Lasting::while_caller_waits);
  if (!opened) return delivery.answer.fail(opened.error());
  const auto call = std::make_shared<ServedCall>(std::move(opened).value());
  submit(call, [call] {
    AnswerBacklog::Begin again = [call] { submit(call, [call] { run(call); }); };
    const auto answers = call->function->answers_small ? AnswerBacklog::Answers::small : AnswerBacklog::Answers::any;
    if (!call->node->accounts().answers.keep(call->answer.requester(), answers, again)) run(call);
  });
}

}  // namespace

WorkerActor::behavior_type worker_actor(WorkerActor::pointer self, NodeCore* node) {
  // The worker keeps no state between calls: an exception fails only its call.
  struct Failed {
    NodeCore* node;
    void operator()(const Error&, const CallArrived&) const {}
    void operator()(const Error& why, const StopWorking&) const { node->fail(why); }
  };
  return guarded<WorkerActor::behavior_type>(
      "the worker", Failed{node},
      [=](CallArrived& m) { serve(*node, m.delivery, std::move(m.delivery.message).get<msg::Call>()); },
      [=](const StopWorking&) { self->quit(); });
}

}  // namespace troupe::detail

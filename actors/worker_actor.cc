#include "actors/worker_actor.h"

#include <memory>
#include <variant>

#include "actors/serve.h"

namespace troupe::detail {
namespace {

void serve(NodeCore& node, const Delivery& delivery, msg::Call& message, std::stop_token stop, std::function<void()> ended) {
  auto opened = open_call(node, delivery, message.function, message.function_name, message.fingerprint,
                          std::move(message.arguments), message.site, std::move(stop));
  if (!opened) {
    delivery.answer.fail(opened.error());
    ended();
    return;
  }
  const auto call = std::make_shared<ServedCall>(std::move(opened).value());
  const auto run = [call, ended] {
    if (call->function->object != nullptr) {
      call->answer.fail(call->node->error(ErrorCode::bad_argument, call->node->name(), "rpc " + call->function->name,
                                          "a member function is called on an RRef"));
    } else if (auto value = run_function(*call, nullptr)) {
      answer_with_value(*call, value.value());
    } else {
      call->answer.fail(value.error());
    }
    ended();
  };
  node.run("rpc " + call->function->name + " for " + call->caller, run, [call, ended](const Error& refused) {
    call->answer.fail(refused);
    ended();
  });
}

}  // namespace

WorkerActor::behavior_type worker_actor(WorkerActor::stateful_pointer<WorkerState> self, NodeCore* node,
                                        std::atomic<std::size_t>* served) {
  const auto count = [self, served] { served->store(self->state.serving.size(), std::memory_order_relaxed); };
  const auto cancel = [self](const NodeName& caller, RequestId request) {
    const auto call = self->state.serving.find({caller, request});
    if (call != self->state.serving.end()) call->second.request_stop();
  };
  return {
      [=](WorkArrived& m) {
        Delivery& delivery = m.delivery;
        if (const auto* cancelled = std::get_if<msg::CallCancelled>(&delivery.message)) {
          return cancel(delivery.from, cancelled->request);
        }
        const RequestId request = delivery.envelope.request;
        auto& source = self->state.serving[{delivery.from, request}];
        count();
        // The actor is named, not held: a function that outlives the node must not keep its actor system.
        const caf::actor_addr worker = self->address();
        auto ended = [core = node->shared_from_this(), worker, caller = delivery.from, request] {
          if (const auto alive = caf::actor_cast<caf::strong_actor_ptr>(worker)) {
            core->host().send(alive, WorkEnded{caller, request});
          }
        };
        serve(*node, delivery, std::get<msg::Call>(delivery.message), source.get_token(), std::move(ended));
      },
      [=](const WorkEnded& m) {
        self->state.serving.erase({m.caller, m.request});
        count();
      },
      [=](const CallerGone& m) {
        for (auto& [call, source] : self->state.serving) {
          if (call.first == m.caller.name) source.request_stop();
        }
      },
      [=](const StopWorking&) {
        for (auto& [call, source] : self->state.serving) source.request_stop();
        self->quit();
      },
  };
}

}  // namespace troupe::detail

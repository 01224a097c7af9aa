#include "actors/core/request.h"

#include <atomic>
#include <utility>

namespace troupe::detail {

struct ReturnAddress::State {
  State(std::shared_ptr<AnswerSender> n, NodeLife t, RequestId r) : node(std::move(n)), to(std::move(t)), request(r) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (answered.load()) return;
    const NodeLife self = node->life();
    Error error{.code = ErrorCode::internal, .message = "the request was dropped without an answer"};
    error.peer = self.name;
    error.incarnation = self.incarnation;
    send(msg::Failure{std::move(error)});
  }

  void send(msg::AnyMessage message) {
    if (answered.exchange(true)) return;
    node->send_answer(to, request, std::move(message));
  }

  const std::shared_ptr<AnswerSender> node;
  const NodeLife to;
  const RequestId request;
  std::atomic<bool> answered{false};
};

ReturnAddress::ReturnAddress(std::shared_ptr<AnswerSender> node, NodeLife to, RequestId request)
    : state_(std::make_shared<State>(std::move(node), std::move(to), request)) {}

void ReturnAddress::answer(msg::AnyMessage message) const {
  if (state_) state_->send(std::move(message));
}

void ReturnAddress::fail(Error error) const {
  if (!state_) return;
  if (error.peer.empty()) error.peer = state_->node->life().name;
  state_->send(msg::Failure{std::move(error)});
}

const NodeLife& ReturnAddress::requester() const {
  static const NodeLife nobody;
  return state_ ? state_->to : nobody;
}

}  // namespace troupe::detail

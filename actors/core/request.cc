#include "actors/core/request.h"

#include <atomic>
#include <memory>
#include <new>
#include <utility>

namespace troupe::detail {

struct ReturnAddress::State {
  State(std::shared_ptr<AnswerSender> n, NodeLife t, RequestId r) : node(std::move(n)), to(std::move(t)), request(r) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (answered.load()) return;
    Error error;  // code: internal
    set_text(error.message, "the request was dropped without an answer");
    name_node(error);
    send(msg::Failure{std::move(error)}, {});
  }

  void send(msg::AnyMessage message, UndoList undo) noexcept {
    if (answered.exchange(true)) return;
    node->send_answer(to, request, std::move(message), std::move(undo));
  }

  /// Without memory the error names no node.
  void name_node(Error& error) const noexcept {
    try {
      NodeLife self = node->life();
      error.peer = std::move(self.name);
      error.incarnation = self.incarnation;
    } catch (const std::bad_alloc&) {
      error.peer.clear();
    }
  }

  const std::shared_ptr<AnswerSender> node;
  const NodeLife to;
  const RequestId request;
  std::atomic<bool> answered{false};
};

ReturnAddress::ReturnAddress(std::shared_ptr<AnswerSender> node, NodeLife to, RequestId request)
    : state_(std::make_shared<State>(std::move(node), std::move(to), request)) {}

void ReturnAddress::answer(msg::AnyMessage message, UndoList undo) const noexcept {
  if (state_) state_->send(std::move(message), std::move(undo));
}

void ReturnAddress::fail(Error error) const noexcept {
  if (!state_) return;
  if (error.peer.empty()) {
    const Incarnation of_error = error.incarnation;
    state_->name_node(error);
    error.incarnation = of_error;
  }
  state_->send(msg::Failure{std::move(error)}, {});
}

const NodeLife& ReturnAddress::requester() const {
  if (state_) return state_->to;
  static const NodeLife& nobody = *std::make_unique<const NodeLife>().release();
  return nobody;
}

}  // namespace troupe::detail

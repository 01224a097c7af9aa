#include "actors/calls/repetition.h"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "actors/core/node_core.h"

namespace troupe::detail {
namespace {

class Repetition final : public std::enable_shared_from_this<Repetition> {
 public:
  Repetition(std::shared_ptr<NodeCore> node, Request request, Idempotency idempotency, const RetryPolicy& policy,
             AnswerHandler done)
      : node_(std::move(node)),
        request_(std::move(request)),
        idempotency_(idempotency),
        policy_(policy),
        active_(node_->waiting_calls().begin()),
        pause_(policy.pause),
        done_(std::move(done)) {}

  /// In a pause only the timer owns this: the clock has dropped it, as the node has ended.
  ~Repetition() {
    if (!pauses_) return;
    try {
      fail(node_->error(ErrorCode::shutting_down, request_.to, request_.operation,
                        "node " + node_->name() + " has shut down"));
    } catch (const std::bad_alloc&) {  // the handler says so when it ends
    }
  }
  Repetition(const Repetition&) = delete;
  Repetition& operator=(const Repetition&) = delete;

  void attempt() {
    pauses_ = false;
    ++attempts_;
    node_->request(request_,
                   [self = shared_from_this()](Result<msg::AnyMessage> answer) { self->answered(std::move(answer)); });
  }

 private:
  void answered(Result<msg::AnyMessage> answer) {
    if (!answer) ran_ = std::max(ran_, answer.error().execution);
    const std::optional<TimePoint> next = later(node_->clock().now(), pause_);
    const bool again = !answer && attempts_ < policy_.attempts_max && may_repeat(answer.error(), idempotency_) &&
                       !node_->stopped() && next && (!request_.due || *next < *request_.due);
    if (!again) return answer ? done_(std::move(answer)) : fail(answer.error());
    if (!node_->retry_budgets().spend(request_.to)) {
      Error error = answer.error();
      error.hint = "not repeated: too many calls to it are repeats already (RetryPolicy::budget)";
      return fail(std::move(error));
    }
    pause_ = pause_ > policy_.pause_max / 2 ? policy_.pause_max : 2 * pause_;  // without overflow
    pauses_ = true;  // before the timer, whose thread may already make the attempt
    try {
      node_->clock().at(*next, [self = shared_from_this()] { self->attempt(); });
    } catch (const std::bad_alloc&) {
      pauses_ = false;
      throw;
    }
  }

  void fail(Error error) {
    error.execution = ran_;
    done_(std::move(error));
  }

  const std::shared_ptr<NodeCore> node_;
  const Request request_;
  const Idempotency idempotency_;
  const RetryPolicy policy_;
  const WaitingCalls::Token active_;  // held from the first attempt on, so that the node is never seen idle in between
  // Used by one attempt or pause at a time.
  int attempts_ = 0;
  bool pauses_ = false;               // a timer will make the next attempt
  Execution ran_ = Execution::never;  // in any attempt
  Duration pause_;
  AnswerHandler done_;
};

}  // namespace

void request_repeatedly(std::shared_ptr<NodeCore> node, Request request, Idempotency idempotency,
                        const RetryPolicy& policy, AnswerHandler done) {
  node->retry_budgets().earn(request.to, policy.budget);
  std::make_shared<Repetition>(std::move(node), std::move(request), idempotency, policy, std::move(done))->attempt();
}

}  // namespace troupe::detail

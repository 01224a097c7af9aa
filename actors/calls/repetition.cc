#include "actors/calls/repetition.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "actors/core/node_core.h"
#include "actors/core/stop_watch.h"
#include "actors/future.h"

namespace troupe::detail {
namespace {

class Repetition final : public std::enable_shared_from_this<Repetition> {
 public:
  Repetition(std::shared_ptr<NodeCore> node, Request request, Repeat repeat, const RetryPolicy& policy,
             AnswerHandler done)
      : node_(std::move(node)),
        request_(std::move(request)),
        repeat_(repeat),
        policy_(policy),
        active_(node_->waiting_calls().begin()),
        pause_(policy.pause),
        done_(std::move(done)) {}

  void attempt() {
    if (is_cancelled()) return cancelled();
    ++attempts_;
    node_->request(request_,
                   [self = shared_from_this()](Result<msg::AnyMessage> answer) { self->answered(std::move(answer)); });
  }

 private:
  /// The time until the next attempt. It ends once: by its timer, by the caller's cancellation, with the node, or
  /// with the clock.
  class Pause final : public std::enable_shared_from_this<Pause> {
   public:
    explicit Pause(std::shared_ptr<Repetition> call) : call_(std::move(call)) {}
    /// Only the timer owned this: the clock has dropped it, as the node has ended.
    ~Pause() {
      if (const auto call = end()) call->shut_down();
    }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

    /// Throws std::bad_alloc, unless the call goes on all the same.
    void begin(TimePoint until, const std::vector<std::stop_token>& cancelled_by) {
      Clock& clock = call_->node_->clock();
      const std::stop_token node_end = call_->node_->waiting_calls().node_end();
      try {
        timer_ = clock.at(until, [self = shared_from_this()] { self->attempt(); });
        watch_.emplace(cancelled_by, [this] { end_early(&Repetition::cancelled); });
        node_watch_.emplace(node_end, [this] { end_early(&Repetition::shut_down); });
      } catch (const std::bad_alloc&) {
        if (end()) throw;
      }
    }

   private:
    /// Returns the call to the first caller, null to all others.
    std::shared_ptr<Repetition> end() { return has_ended_.exchange(true) ? nullptr : std::move(call_); }

    void attempt() {
      auto call = end();
      if (!call) return;
      try {
        call->attempt();
      } catch (const std::bad_alloc&) {  // the clock tries again
        call_ = std::move(call);
        has_ended_ = false;
        throw;
      }
    }

    /// In a stop callback: the caller's, or the ending node's.
    void end_early(void (Repetition::*end_call)() noexcept) noexcept {
      const auto kept = weak_from_this().lock();  // the watches must not end on the clock's thread: `cancel` awaits it
      const auto call = end();
      if (!call) return;
      (call.get()->*end_call)();
      if (kept) call->node_->clock().cancel(timer_);
    }

    std::shared_ptr<Repetition> call_;  // used by who has ended the pause
    std::atomic<bool> has_ended_{false};
    TimerId timer_;
    std::optional<StopWatch> watch_;                                       // its end waits for `end_early`
    std::optional<std::stop_callback<std::function<void()>>> node_watch_;  // so does this one's
  };

  void answered(Result<msg::AnyMessage> answer) {
    if (!answer) ran_ = std::max(ran_, answer.error().execution);
    const std::optional<TimePoint> next = later(node_->clock().now(), pause_);
    const bool again = !answer && attempts_ < policy_.attempts_max && may_repeat(answer.error(), repeat_) &&
                       !node_->stopped() && next && (!request_.due || *next < *request_.due);
    if (!again) return answer ? done_(std::move(answer)) : fail(answer.error());
    if (is_cancelled()) return cancelled();
    if (!node_->retry_budgets().spend(request_.to)) {
      Error error = answer.error();
      error.hint = "not repeated: too many calls to it are repeats already (RetryPolicy::budget)";
      return fail(std::move(error));
    }
    pause_ = pause_ > policy_.pause_max / 2 ? policy_.pause_max : 2 * pause_;  // without overflow
    std::make_shared<Pause>(shared_from_this())->begin(*next, request_.cancelled_by);
  }

  [[nodiscard]] bool is_cancelled() const {
    return std::any_of(request_.cancelled_by.begin(), request_.cancelled_by.end(),
                       [](const std::stop_token& token) { return token.stop_requested(); });
  }

  void cancelled() noexcept {
    end_without_answer([] { return cancelled_by_caller(); });
  }

  void shut_down() noexcept {
    end_without_answer([this] { return node_->stopped_error(request_.to, request_.operation); });
  }

  template <class MakeError>
  void end_without_answer(const MakeError& make_error) noexcept {
    try {
      fail(make_error());
    } catch (const std::bad_alloc&) {  // the handler says so when it ends
    }
  }

  void fail(Error error) {
    error.execution = ran_;
    done_(std::move(error));
  }

  const std::shared_ptr<NodeCore> node_;
  const Request request_;
  const Repeat repeat_;
  const RetryPolicy policy_;
  const WaitingCalls::Token active_;  // held from the first attempt on, so that the node is never seen idle in between
  // Used by one attempt or pause at a time.
  int attempts_ = 0;
  Execution ran_ = Execution::never;  // in any attempt
  Duration pause_;
  AnswerHandler done_;
};

}  // namespace

void request_repeatedly(std::shared_ptr<NodeCore> node, Request request, Repeat repeat, const RetryPolicy& policy,
                        AnswerHandler done) {
  node->retry_budgets().earn(request.to, policy.budget);
  std::make_shared<Repetition>(std::move(node), std::move(request), repeat, policy, std::move(done))->attempt();
}

}  // namespace troupe::detail

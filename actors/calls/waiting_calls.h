// Calls that are not done although none of their requests is pending: a call that pauses between two attempts, or a
// decided step that is repeated after its caller has returned. A node that has one is not idle (MB-1).
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <stop_token>

namespace troupe::detail {

/// Thread rule: any thread may call any member; tokens may outlive the WaitingCalls.
class WaitingCalls {
 public:
  /// Counts one call until the last copy is destroyed.
  using Token = std::shared_ptr<const void>;

  [[nodiscard]] Token begin() {
    state_->count.fetch_add(1, std::memory_order_acq_rel);
    return {state_.get(), [state = state_](const void*) { state->count.fetch_sub(1, std::memory_order_acq_rel); }};
  }

  [[nodiscard]] std::size_t size() const { return state_->count.load(std::memory_order_acquire); }

  /// Stops when the node ends: a call that pauses ends then.
  [[nodiscard]] std::stop_token node_end() const { return state_->node_end.get_token(); }

  /// Stops node_end(); its callbacks run on this thread.
  void end() noexcept { state_->node_end.request_stop(); }

 private:
  struct State {
    std::atomic<std::size_t> count{0};
    std::stop_source node_end;
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace troupe::detail

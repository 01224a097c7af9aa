// Calls that are not done although none of their requests is pending: a call that pauses between two attempts, or a
// decided step that is repeated after its caller has returned. A node that has one is not idle (MB-1).
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

namespace troupe::detail {

/// Thread rule: any thread may call any member; tokens may outlive the WaitingCalls.
class WaitingCalls {
 public:
  /// Counts one call until the last copy is destroyed.
  using Token = std::shared_ptr<const void>;

  [[nodiscard]] Token begin() {
    count_->fetch_add(1, std::memory_order_acq_rel);
    return {count_.get(), [count = count_](const void*) { count->fetch_sub(1, std::memory_order_acq_rel); }};
  }

  [[nodiscard]] std::size_t size() const { return count_->load(std::memory_order_acquire); }

 private:
  const std::shared_ptr<std::atomic<std::size_t>> count_ = std::make_shared<std::atomic<std::size_t>>(0);
};

}  // namespace troupe::detail

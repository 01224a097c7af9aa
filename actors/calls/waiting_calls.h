// Calls of this node that are not done although no request of theirs waits for an answer: between two attempts, or
// decided and to be repeated behind their caller. A node with one is not idle (MB-1).
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

namespace troupe::detail {

/// Thread rule: any thread may call any member; tokens may outlive the object.
class WaitingCalls {
 public:
  /// Counts one call until the last copy goes.
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

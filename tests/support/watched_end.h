// An object of a user's whose end shows whether a lock is held meanwhile.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "messages/frame.h"

namespace troupe::testing {

/// Observes the end of one object, and outlives it.
class WatchedEnd {
 public:
  /// `use`, which takes the lock in question, is called on another thread when the object ends.
  explicit WatchedEnd(std::function<void()> use) : use_(std::move(use)) {}

  /// Returns the object. REQUIRES: called once.
  [[nodiscard]] std::shared_ptr<const void> object() { return std::make_shared<const Object>(*this); }
  /// Returns a frame of `size` bytes that it owns. REQUIRES: as object().
  [[nodiscard]] Frame frame(std::size_t size = 1) {
    auto owner = std::make_shared<const Object>(*this, size);
    const std::vector<std::byte>& bytes = owner->bytes;
    return {bytes, std::move(owner)};
  }

  /// Waits until the object has ended. Returns whether `use` returned before its end did.
  [[nodiscard]] bool was_without_lock() { return result_.get(); }

 private:
  struct Object {
    explicit Object(WatchedEnd& its_end, std::size_t size = 0)
        : end(its_end), without_lock(its_end.without_lock_), bytes(size) {}
    ~Object() {
      end.other_ = std::async(std::launch::async, end.use_);
      // A lock that is held keeps the other thread for as long as this one waits.
      without_lock->set_value(end.other_.wait_for(std::chrono::seconds{10}) == std::future_status::ready);
    }
    Object(const Object&) = delete;
    Object& operator=(const Object&) = delete;
    WatchedEnd& end;
    const std::shared_ptr<std::promise<bool>> without_lock;
    const std::vector<std::byte> bytes;
  };

  const std::function<void()> use_;
  const std::shared_ptr<std::promise<bool>> without_lock_ = std::make_shared<std::promise<bool>>();
  std::future<bool> result_ = without_lock_->get_future();
  std::future<void> other_;  ///< set by the object's end, then read by the destructor
};

}  // namespace troupe::testing

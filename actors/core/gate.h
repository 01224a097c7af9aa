// Holds items back while it is closed.
#pragma once

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

namespace troupe::detail {

/// Open at first. Thread rule: any thread may call any member; `open` and `end` one thread at a time.
template <class T>
class Gate {
 public:
  /// Keeps all items from now on.
  void close() { closed_.store(true, std::memory_order_release); }

  /// If the gate is closed, keeps `item` and returns true.
  [[nodiscard]] bool keep(T& item) {
    if (!closed_.load(std::memory_order_acquire)) return false;
    const std::lock_guard lock(mutex_);
    if (!closed_.load(std::memory_order_relaxed)) return false;
    kept_.push_back(std::move(item));
    return true;
  }

  /// Passes the kept items to `pass`, in order, then opens the gate. No item overtakes an earlier one.
  template <class Pass>
  void open(Pass pass) {
    while (true) {
      std::vector<T> waiting;
      {
        const std::lock_guard lock(mutex_);
        waiting.swap(kept_);
        if (waiting.empty()) {
          closed_.store(false, std::memory_order_release);
          return;
        }
      }
      for (T& item : waiting) pass(std::move(item));
    }
  }

  /// Opens the gate and returns the kept items instead of passing them.
  [[nodiscard]] std::vector<T> end() {
    const std::lock_guard lock(mutex_);
    closed_.store(false, std::memory_order_release);
    return std::exchange(kept_, {});
  }

 private:
  std::atomic<bool> closed_{false};
  std::mutex mutex_;
  std::vector<T> kept_;  // guarded by mutex_
};

}  // namespace troupe::detail

// Keeps what comes too early.
#pragma once

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

namespace troupe::detail {

/// Open at first. Thread rule: any thread may call any member; `open` and `end` by one at a time.
template <class T>
class Gate {
 public:
  /// What comes from now on is kept.
  void close() { closed_.store(true, std::memory_order_release); }

  /// Takes `item` if the gate is closed; returns whether it did.
  [[nodiscard]] bool keep(T& item) {
    if (!closed_.load(std::memory_order_acquire)) return false;
    const std::lock_guard lock(mutex_);
    if (!closed_.load(std::memory_order_relaxed)) return false;
    kept_.push_back(std::move(item));
    return true;
  }

  /// Gives `pass` what was kept, in order, and then lets everything by: nothing overtakes what came before it.
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

  /// Opens it and returns what was kept: it will not pass.
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

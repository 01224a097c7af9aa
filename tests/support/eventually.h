// Waits for a condition without sleeping: the code under test reports every change.
#pragma once

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>

namespace troupe::testing {

/// State that a test waits on. Observers change their state inside `change`; predicates read it inside `eventually`.
/// Both hold the same recursive lock. Thread-safe.
class Changes {
 public:
  template <class Action>
  void change(Action action) {
    {
      const std::lock_guard lock(mutex_);
      action();
    }
    changed_.notify_all();
  }

  /// Runs `read` under the lock and returns its result.
  template <class Read>
  [[nodiscard]] auto read(Read read) const {
    const std::lock_guard lock(mutex_);
    return read();
  }

  /// Waits until `predicate` holds, at most `deadline`, and returns whether it does.
  template <class Predicate>
  [[nodiscard]] bool wait(std::chrono::steady_clock::duration deadline, Predicate predicate) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, deadline, predicate);
  }

 private:
  mutable std::recursive_mutex mutex_;
  mutable std::condition_variable_any changed_;
};

/// Fails the test case if `predicate` does not hold within `deadline`, and prints the text that `describe` returns.
template <class Predicate, class Describe>
void eventually(std::chrono::steady_clock::duration deadline, const Changes& changes, Predicate predicate,
                Describe describe) {
  const bool holds = changes.wait(deadline, predicate);
  if (!holds) BOOST_FAIL("waited in vain; last seen: " << changes.read(describe));
}

}  // namespace troupe::testing

// Which work on a graph is so short that the thread that finds it does it, without the pool.
#pragma once

#include <cstdint>

#include "autograd/grad_fn.h"

namespace troupe::detail {

/// Adds up what passes from several vertices of a node do there. Plain state; one thread at a time.
class ShortWork {
 public:
  /// A product of two matrices with so many elements together takes some ten microseconds at most.
  static constexpr std::uint64_t kMax = 1024;

  void add(const GradFn& start);

  /// Returns whether all that was added takes at most some ten microseconds, runs no user code and waits for nothing.
  [[nodiscard]] bool is_short() const { return is_short_; }

 private:
  std::uint64_t work_ = 0;  // GradFn::work()
  bool is_short_ = true;
};

}  // namespace troupe::detail

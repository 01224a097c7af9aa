// How many threads one tensor operation may use.
#pragma once

namespace troupe {

/// While it lives, tensor operations called from this thread use at most `threads` threads (at least 1).
/// Guards nest. Results are reproducible bit for bit at an equal number of threads.
/// Without a guard a thread uses what OMP_NUM_THREADS says, or all cores.
class MathThreads {
 public:
  explicit MathThreads(int threads) noexcept;
  ~MathThreads();
  MathThreads(const MathThreads&) = delete;
  MathThreads& operator=(const MathThreads&) = delete;

  /// Returns how many an operation called from this thread may use now.
  [[nodiscard]] static int current() noexcept;

 private:
  int previous_;
};

}  // namespace troupe

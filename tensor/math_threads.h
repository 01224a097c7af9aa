// The number of threads that one tensor operation may use.
#pragma once

namespace troupe {

/// Scoped guard: tensor operations called from this thread use at most `threads` threads; below 1 counts as 1.
/// Guards nest. Results are reproducible bit for bit at an equal number of threads.
/// Without a guard the limit is OMP_NUM_THREADS, or the number of cores.
class MathThreads {
 public:
  explicit MathThreads(int threads) noexcept;
  ~MathThreads();
  MathThreads(const MathThreads&) = delete;
  MathThreads& operator=(const MathThreads&) = delete;

  /// Returns the present limit of the calling thread.
  [[nodiscard]] static int current() noexcept;

 private:
  int previous_;
};

}  // namespace troupe

// The threads of OpenMP loops, where the system may refuse threads.
#pragma once

namespace troupe::cpu {

/// While it lives, OpenMP loops of the calling thread, also those of oneDNN, run on `size()` threads: as many as
/// MathThreads::current() says, or fewer while the system refuses threads.
///
/// libgomp ends the process if it is refused a thread. It keeps the threads of a loop until the same thread has a loop
/// of fewer, two at least. So this creates threads, and lets them end, before a loop has more threads than the one
/// before, and at most 512 more. After a refusal it waits 1 s before it tries again. What it cannot know: smaller loops
/// that oneDNN chose itself, stacks of another size (OMP_STACKSIZE), threads that other processes create at that
/// moment. Never throws. REQUIRES: destroyed on the thread that made it.
class ThreadTeam {
 public:
  ThreadTeam() noexcept;
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  [[nodiscard]] int size() const noexcept { return size_; }

 private:
  int wanted_;
  int size_;
};

}  // namespace troupe::cpu

// The processor of the machine on which a world runs.
#pragma once

#include <sched.h>

#include <chrono>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

namespace troupe::sim {

/// Keeps the threads of a world on one processor while the world runs. Only one of them computes at any time, and to
/// hand the baton to a thread on another processor takes twice as long. If others want that processor too, the world
/// moves to another one. Where the system refuses, threads run anywhere. Used by the holder of the baton.
class Processor {
 public:
  /// While one lives, the thread that made it stays on the processor; then it may run where it was allowed to before.
  class Stay {
   public:
    explicit Stay(Processor& processor);
    ~Stay();
    Stay(const Stay&) = delete;
    Stay& operator=(const Stay&) = delete;

   private:
    Processor& processor_;
  };

  /// Moves `thread` to the processor, if there is a Stay. `at`: to which one it was moved last, at first kNone.
  void bring(std::thread& thread, int& at);

  static constexpr int kNone = -1;

 private:
  using Time = std::chrono::steady_clock::time_point;

  void enter();
  void leave();
  void look();
  void stay_at(int number);

  int depth_ = 0;                // of Stays
  int number_ = kNone;           // kNone: threads run anywhere
  std::vector<int> allowed_;     // where the thread of the first Stay might run before
  cpu_set_t before_{};           // the same, as the system gave it
  std::uint64_t handovers_ = 0;  // since the last look, as what follows
  Time looked_at_{};
  std::chrono::nanoseconds computed_{};              // by this process
  std::minstd_rand random_{std::random_device{}()};  // of no effect on what the world does
};

}  // namespace troupe::sim

#include "tests/bench/rpc/floors/turns_floor.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <new>

#include "tests/bench/figures.h"
#include "tests/bench/rpc/floors/other_process.h"

namespace troupe::bench {
namespace {

constexpr std::chrono::microseconds kLooks{200};

/// Whose turn it is, which of the two sleeps until it changes, and where each has waited last.
struct Turn {
  std::atomic<std::uint32_t> of{0};
  std::array<std::atomic<bool>, 2> sleeps{};
  std::array<std::atomic<int>, 2> processor{};

  void give(std::uint32_t to) {
    of = to;
    if (sleeps[to]) ::syscall(SYS_futex, &of, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
  void wait_for(std::uint32_t own) {
    processor[own] = ::sched_getcpu();
    const auto until = SteadyClock::now() + kLooks;
    while (processor[own] != processor[1 - own] && SteadyClock::now() < until) {
      if (of == own) return;
    }
    sleeps[own] = true;
    for (std::uint32_t now = of; now != own; now = of) ::syscall(SYS_futex, &of, FUTEX_WAIT, now, nullptr, nullptr, 0);
    sleeps[own] = false;
  }
};

}  // namespace

std::vector<double> turns_floor(std::size_t count) {
  void* const page = ::mmap(nullptr, sizeof(Turn), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  check(page != MAP_FAILED, "mmap");
  auto* const turn = new (page) Turn;
  const OtherProcess other([turn] {
    while (true) {
      turn->wait_for(1);
      turn->give(0);
    }
  });
  auto times = times_of(count, [turn] {
    turn->give(1);
    turn->wait_for(0);
  });
  ::munmap(page, sizeof(Turn));
  return times;
}

}  // namespace troupe::bench

#include "node/links/shared_memory/doorbell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace troupe::detail {
namespace {

// The page: 0 one 32-bit word, 1 while the receiver sleeps or is about to; 512 the bells.
constexpr std::size_t kAsleep = 0;
constexpr std::size_t kBells = 512;
static_assert(kBells + kBellWords * sizeof(std::uint64_t) <= kDoorbellBytes);

}  // namespace

Result<Doorbell> Doorbell::make() {
  auto segment = make_segment(kDoorbellBytes, Writers::all);
  if (!segment) return segment.error();
  return Doorbell(std::move(segment.value().file), std::move(segment.value().memory));
}

Result<Doorbell> Doorbell::map(const FileDescriptor& file) {
  auto page = map_segment(file, kDoorbellBytes, Writers::all);
  if (!page) return page.error();
  return Doorbell(FileDescriptor(), std::move(page).value());
}

std::atomic_ref<std::uint64_t> Doorbell::word(std::size_t number) const noexcept {
  return std::atomic_ref(*(reinterpret_cast<std::uint64_t*>(page_->bytes().data() + kBells) + number));
}

std::atomic_ref<std::uint32_t> Doorbell::asleep() const noexcept {
  return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(page_->bytes().data() + kAsleep));
}

// The ringer sets a bit, then looks whether the receiver sleeps; the receiver says that it sleeps, then looks at the
// bits. All four are sequentially consistent, so one of the two sees the other.
void Doorbell::ring(std::uint32_t bell) const noexcept {
  word(bell / 64).fetch_or(std::uint64_t{1} << (bell % 64));
  if (asleep().load() == 0 || asleep().exchange(0) == 0) return;
  (void)::syscall(SYS_futex, page_->bytes().data() + kAsleep, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

bool Doorbell::take(Rung& rung) const noexcept {
  std::uint64_t any = 0;
  for (std::size_t i = 0; i < kBellWords; ++i) {
    rung[i] = word(i).load(std::memory_order_relaxed) == 0 ? 0 : word(i).exchange(0);
    any |= rung[i];
  }
  return any != 0;
}

bool Doorbell::any_rung() const noexcept {
  for (std::size_t i = 0; i < kBellWords; ++i) {
    if (word(i).load() != 0) return true;
  }
  return false;
}

bool Doorbell::sleep() const noexcept {
  bool in_time = true;
  asleep().store(1);
  if (!any_rung()) {
    const auto nanoseconds = std::chrono::nanoseconds(kSleepMax).count();
    const timespec at_most{.tv_sec = nanoseconds / 1'000'000'000, .tv_nsec = nanoseconds % 1'000'000'000};
    in_time = ::syscall(SYS_futex, page_->bytes().data() + kAsleep, FUTEX_WAIT, 1, &at_most, nullptr, 0) == 0 ||
              errno != ETIMEDOUT;
  }
  asleep().store(0);
  return in_time;
}

}  // namespace troupe::detail

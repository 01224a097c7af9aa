#include "node/links/shared_memory/doorbell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace troupe::detail {
namespace {

// The page, all numbers as the machine has them: 0 the berth to wake (4); 64, 128 and 192 whether berth 1, 2 and 3 were
// woken (4 each); 512 a bit for each word of bells that has one (8), then these words.
constexpr std::size_t kExpected = 0;
constexpr std::size_t kBerths = 64;
constexpr std::size_t kBells = 512;
static_assert(kBellWords <= 64 && kBells + (1 + kBellWords) * sizeof(std::uint64_t) <= kDoorbellBytes);

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

std::atomic_ref<std::uint32_t> Doorbell::expected() const noexcept {
  return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(page_->bytes().data() + kExpected));
}

std::atomic_ref<std::uint32_t> Doorbell::woken(Berth berth) const noexcept {
  return std::atomic_ref(*word_address(berth));
}

std::uint32_t* Doorbell::word_address(Berth berth) const noexcept {
  return reinterpret_cast<std::uint32_t*>(page_->bytes().data() + kBerths * static_cast<std::size_t>(berth));
}

// The ringer sets a bit, then looks who is expected; a thread that will sleep says so, then looks at the bits. All four
// are sequentially consistent, so one of the two sees the other.
void Doorbell::ring(std::uint32_t bell) const noexcept {
  remind(bell);
  if (expected().load() == 0) return;
  const std::uint32_t berth = expected().exchange(0);
  if (berth > 0 && berth <= static_cast<std::uint32_t>(Berth::idle)) wake(static_cast<Berth>(berth));
}

void Doorbell::remind(std::uint32_t bell) const noexcept {
  word(1 + bell / 64).fetch_or(std::uint64_t{1} << (bell % 64));
  word(0).fetch_or(std::uint64_t{1} << (bell / 64));
}

std::uint64_t Doorbell::take_words() const noexcept {
  return word(0).load(std::memory_order_relaxed) == 0 ? 0 : word(0).exchange(0);
}

std::uint64_t Doorbell::take_bells(std::uint32_t of_word) const noexcept { return word(1 + of_word).exchange(0); }

bool Doorbell::any_rung() const noexcept { return word(0).load() != 0; }

void Doorbell::expect(Berth berth) const noexcept { expected().store(static_cast<std::uint32_t>(berth)); }

void Doorbell::settle(Berth berth) const noexcept { woken(berth).store(0); }

void Doorbell::wake(Berth berth) const noexcept {
  woken(berth).store(1);
  (void)::syscall(SYS_futex, word_address(berth), FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

bool Doorbell::wait(Berth berth, std::chrono::nanoseconds at_most) const noexcept {
  const timespec limit{.tv_sec = at_most.count() / 1'000'000'000, .tv_nsec = at_most.count() % 1'000'000'000};
  return ::syscall(SYS_futex, word_address(berth), FUTEX_WAIT, 0, &limit, nullptr, 0) == 0 || errno != ETIMEDOUT;
}

}  // namespace troupe::detail

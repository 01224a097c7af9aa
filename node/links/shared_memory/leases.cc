#include "node/links/shared_memory/leases.h"

#include <sodium.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace troupe::detail {
namespace {

constexpr std::size_t kSlotsAtFirst = 16;

/// In the last word of a page that its reader has let go. No generation is so large.
constexpr std::uint64_t kLeft = std::numeric_limits<std::uint64_t>::max();

/// REQUIRES: slot < kLeasesMax.
std::atomic_ref<std::uint64_t> word_of(const Mapping& page, std::size_t slot) {
  return std::atomic_ref(*(reinterpret_cast<std::uint64_t*>(page.bytes().data()) + slot));
}

}  // namespace

Result<std::shared_ptr<LeaseTable>> LeaseTable::make() {
  auto page = make_segment(kLeasePageBytes, Writers::all);
  if (!page) return page.error();
  return std::make_shared<LeaseTable>(std::move(page).value());
}

LeaseTable::LeaseTable(Segment page) : page_(std::move(page)) {
  ::randombytes_buf(&last_generation_, sizeof last_generation_);
  last_generation_ >>= 1U;  // it does not overflow
}

std::atomic_ref<std::uint64_t> LeaseTable::word(std::size_t slot) const { return word_of(*page_.memory, slot); }

std::optional<LeaseId> LeaseTable::open(std::shared_ptr<Block> block) {
  Block* const which = block.get();
  return open(std::move(block), which);
}

std::optional<LeaseId> LeaseTable::open_other(std::shared_ptr<const void> memory) {
  return open(std::move(memory), nullptr);
}

bool LeaseTable::add_slots() {
  const std::size_t before = slots_.size();
  const std::size_t after = before == 0 ? kSlotsAtFirst : std::min(2 * before, kLeasesMax);
  free_.reserve(after);
  open_.reserve(after);
  slots_.resize(after);
  for (std::size_t i = after; i-- > before;) free_.push_back(static_cast<std::uint32_t>(i));
  return after > before;
}

std::optional<LeaseId> LeaseTable::open(std::shared_ptr<const void> memory, Block* block) {
  const std::lock_guard lock(mutex_);
  if (free_.empty() && !add_slots()) return std::nullopt;
  const std::uint32_t number = free_.back();
  free_.pop_back();
  open_.push_back(number);
  Slot& slot = slots_[number];
  slot.memory = std::move(memory);
  slot.block = block;
  slot.told = false;
  slot.in_message = true;
  slot.generation = ++last_generation_;
  return LeaseId{.slot = number, .generation = slot.generation};
}

void LeaseTable::told(LeaseId lease) {
  const std::lock_guard lock(mutex_);
  Slot& slot = slots_[lease.slot];
  if (slot.generation == lease.generation) slot.told = true;
}

void LeaseTable::message_ended(LeaseId lease) {
  std::shared_ptr<const void> ended;  // its destructor takes the pool's lock
  const std::lock_guard lock(mutex_);
  Slot& slot = slots_[lease.slot];
  if (slot.generation != lease.generation || !slot.memory) return;
  slot.in_message = false;
  if (slot.told) return;
  ended = std::exchange(slot.memory, nullptr);
  std::erase(open_, lease.slot);
  free_.push_back(lease.slot);
}

void LeaseTable::collect() {
  const std::lock_guard lock(mutex_);
  std::erase_if(open_, [this](std::uint32_t number) {
    Slot& slot = slots_[number];
    if (slot.in_message || word(number).load(std::memory_order_acquire) != slot.generation) return false;
    slot.memory = nullptr;
    free_.push_back(number);
    return true;
  });
}

bool LeaseTable::was_left() const { return word(kLeasesMax - 1).load(std::memory_order_acquire) == kLeft; }

void LeaseTable::end_all() {
  const std::lock_guard lock(mutex_);
  for (const std::uint32_t number : open_) {
    slots_[number].memory = nullptr;
    free_.push_back(number);
  }
  open_.clear();
}

std::shared_ptr<Block> LeaseTable::find(LeaseId lease) const {
  const std::lock_guard lock(mutex_);
  if (lease.slot >= slots_.size()) return nullptr;
  const Slot& slot = slots_[lease.slot];
  const bool is_open = slot.told && slot.generation == lease.generation && slot.memory;
  return is_open && slot.block != nullptr
             ? std::shared_ptr<Block>(std::const_pointer_cast<void>(slot.memory), slot.block)
             : nullptr;
}

std::size_t LeaseTable::size() const {
  const std::lock_guard lock(mutex_);
  return open_.size();
}

Result<std::shared_ptr<const LeasePage>> LeasePage::map(const FileDescriptor& file) {
  auto memory = map_segment(file, kLeasePageBytes, Writers::all);
  if (!memory) return memory.error();
  return std::make_shared<const LeasePage>(std::move(memory).value());
}

LeasePage::~LeasePage() { word(kLeasesMax - 1).store(kLeft, std::memory_order_release); }

std::atomic_ref<std::uint64_t> LeasePage::word(std::size_t slot) const noexcept { return word_of(*memory_, slot); }

void LeasePage::give_back(LeaseId lease) const noexcept {
  const auto place = word(lease.slot);
  std::uint64_t last = place.load(std::memory_order_relaxed);
  while (last < lease.generation && !place.compare_exchange_weak(last, lease.generation, std::memory_order_release)) {
  }
}

bool LeasePage::was_given_back(LeaseId lease) const noexcept {
  return word(lease.slot).load(std::memory_order_acquire) >= lease.generation;
}

bool LeasePage::hold(LeaseId lease) const noexcept {
  if (lease.generation == 0) return false;  // none has it
  const auto place = word(lease.slot);
  std::uint64_t last = lease.generation;
  place.compare_exchange_strong(last, lease.generation - 1, std::memory_order_acq_rel);
  return last <= lease.generation;
}

}  // namespace troupe::detail

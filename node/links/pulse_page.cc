#include "node/links/pulse_page.h"

#include <algorithm>
#include <chrono>
#include <limits>

namespace troupe {
namespace {

// One word, so that no reader sees half of a heartbeat: the count in its upper half, the interval in ms in its lower.
std::atomic_ref<std::uint64_t> word_of(const detail::Mapping& memory) {
  static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free);
  return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(memory.bytes().data()));
}

}  // namespace

Result<PulsePage> PulsePage::make() {
  auto segment = detail::make_segment(kBytes, detail::Writers::owner);
  if (!segment) return segment.error();
  return PulsePage(std::move(segment).value());
}

void PulsePage::beat(Duration interval) noexcept {
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(interval).count();
  const auto shown = std::clamp<std::int64_t>(ms, 0, std::numeric_limits<std::uint32_t>::max());
  word_of(*segment_.memory)
      .store(std::uint64_t{++count_} << 32 | static_cast<std::uint64_t>(shown), std::memory_order_release);
}

Result<PeerPulsePage> PeerPulsePage::map(const detail::FileDescriptor& file) {
  auto memory = detail::map_segment(file, PulsePage::kBytes, detail::Writers::owner);
  if (!memory) return memory.error();
  return PeerPulsePage(std::move(memory).value());
}

PulseShown PeerPulsePage::read() const noexcept {
  const std::uint64_t word = word_of(*memory_).load(std::memory_order_acquire);
  return {.count = static_cast<std::uint32_t>(word >> 32),
          .interval = std::chrono::milliseconds{static_cast<std::uint32_t>(word)}};
}

}  // namespace troupe

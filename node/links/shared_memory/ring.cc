#include "node/links/shared_memory/ring.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>
#include <vector>

#include "actors/core/assert.h"

namespace troupe::detail {
namespace {

// The segment: 0 the writer's position, 64 the reader's, 4096 the bytes of packets.
constexpr std::size_t kTail = 0;
constexpr std::size_t kHead = 64;
constexpr std::size_t kBytes = 4096;
static_assert(std::has_single_bit(kRingBytes) && kRingSegmentBytes == kBytes + kRingBytes);

// A packet: its size with this head (4), the number of its frames (4), its run (4), zero (4), the size of each frame
// (4), the frames' bytes, zeros to a multiple of 8. Both processes run on one machine: integers have its byte order.
constexpr std::size_t kPacketHead = 16;
constexpr std::size_t kUnit = 8;

std::size_t rounded(std::size_t bytes) { return (bytes + kUnit - 1) / kUnit * kUnit; }

std::atomic_ref<std::uint64_t> position(const Mapping& memory, std::size_t at) {
  return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(memory.bytes().data() + at));
}

/// Calls `copy` with the one or two parts of the ring that follow `position`, and where each begins in the whole.
template <class Copy>
void in_parts(std::uint64_t position, std::size_t bytes, Copy copy) {
  const std::size_t begin = position % kRingBytes;
  const std::size_t first = std::min(bytes, kRingBytes - begin);
  copy(begin, std::size_t{0}, first);
  if (first < bytes) copy(std::size_t{0}, first, bytes - first);
}

}  // namespace

RingWriter::RingWriter(std::shared_ptr<const Mapping> memory)
    : memory_(std::move(memory)), bytes_(memory_->bytes().subspan(kBytes)) {
  TROUPE_ASSERT(memory_->bytes().size() == kRingSegmentBytes, "[ring] the memory has another size");
}

bool RingWriter::is_empty() const { return position(*memory_, kHead).load(std::memory_order_acquire) == tail_; }

std::optional<std::size_t> RingWriter::size_of(const Frames& packet) {
  std::size_t size = kPacketHead + packet.size() * sizeof(std::uint32_t);
  for (const Frame& frame : packet) {
    if (frame.bytes.size() > kRingPacketMax) return std::nullopt;
    size += frame.bytes.size();
  }
  return size > kRingPacketMax ? std::nullopt : std::optional(size);
}

RingWriter::Put RingWriter::put(const Frames& packet, std::uint32_t run) {
  const std::optional<std::size_t> whole = size_of(packet);
  if (!whole) return Put::no_room;
  const std::size_t size = *whole;
  const std::uint64_t used = tail_ - position(*memory_, kHead).load(std::memory_order_acquire);
  if (used > kRingBytes) return Put::broken;
  if (rounded(size) > kRingBytes - used) return Put::no_room;

  const std::uint64_t end = tail_ + rounded(size);
  const auto put_number = [this](std::size_t number) {
    const auto value = static_cast<std::uint32_t>(number);
    write(std::as_bytes(std::span(&value, 1)));
  };
  put_number(size);
  put_number(packet.size());
  put_number(run);
  put_number(0);
  for (const Frame& frame : packet) put_number(frame.bytes.size());
  for (const Frame& frame : packet) write(frame.bytes);
  tail_ = end;
  position(*memory_, kTail).store(tail_, std::memory_order_release);
  return Put::done;
}

void RingWriter::write(std::span<const std::byte> bytes) {
  in_parts(tail_, bytes.size(), [&](std::size_t at, std::size_t from, std::size_t count) {
    if (count > 0) std::memcpy(bytes_.data() + at, bytes.data() + from, count);
  });
  tail_ += bytes.size();
}

RingReader::RingReader(std::shared_ptr<const Mapping> memory)
    : memory_(std::move(memory)), bytes_(memory_->bytes().subspan(kBytes)) {
  TROUPE_ASSERT(memory_->bytes().size() == kRingSegmentBytes, "[ring] the memory has another size");
}

RingReader::Took RingReader::take(Frames& packet, std::uint32_t run) {
  const std::uint64_t available = position(*memory_, kTail).load(std::memory_order_acquire) - head_;
  if (available == 0) return Took::nothing;
  if (available > kRingBytes || available < kPacketHead || available % kUnit != 0) return Took::broken;
  const std::uint64_t begin = head_;
  std::array<std::uint32_t, kPacketHead / sizeof(std::uint32_t)> head{};
  read(std::as_writable_bytes(std::span(head)));
  const auto [size, count, its_run, zero] = head;
  if (size < kPacketHead || size > kRingPacketMax || rounded(size) > available) return Took::broken;
  if (zero != 0 || count > (size - kPacketHead) / sizeof(std::uint32_t)) return Took::broken;
  found_run_ = its_run;
  if (its_run > run) {
    head_ = begin;
    return Took::later;
  }
  const std::uint64_t end = begin + rounded(size);
  const auto finish = [&](Took took) {
    head_ = end;
    position(*memory_, kHead).store(head_, std::memory_order_release);
    return took;
  };
  try {
    const std::size_t content = size - kPacketHead;
    const auto memory = std::make_shared_for_overwrite<std::byte[]>(content);
    const std::span<std::byte> all(memory.get(), content);
    read(all);
    std::span<const std::byte> rest = all.subspan(count * sizeof(std::uint32_t));
    packet.clear();
    packet.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      std::uint32_t bytes = 0;
      std::memcpy(&bytes, all.data() + i * sizeof bytes, sizeof bytes);
      if (bytes > rest.size()) return Took::broken;
      packet.push_back({rest.first(bytes), memory});
      rest = rest.subspan(bytes);
    }
    return rest.empty() ? finish(Took::packet) : Took::broken;
  } catch (const std::bad_alloc&) {
    return finish(Took::no_memory);
  }
}

void RingReader::read(std::span<std::byte> to) {
  in_parts(head_, to.size(), [&](std::size_t at, std::size_t from, std::size_t count) {
    if (count > 0) std::memcpy(to.data() + from, bytes_.data() + at, count);
  });
  head_ += to.size();
}

}  // namespace troupe::detail

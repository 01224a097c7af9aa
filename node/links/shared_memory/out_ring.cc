#include "node/links/shared_memory/out_ring.h"

#include <utility>

namespace troupe::detail {

bool OutRing::is_due(std::size_t packets) {
  const std::lock_guard lock(mutex_);
  return packets_ < packets && ++packets_ == packets;
}

Result<FileDescriptor> OutRing::make() {
  auto segment = make_segment(kRingSegmentBytes, Writers::all);
  if (!segment) return segment.error();
  const std::lock_guard lock(mutex_);
  memory_ = std::move(segment.value().memory);
  return std::move(segment.value().file);
}

void OutRing::give_up() {
  const std::lock_guard lock(mutex_);
  memory_ = nullptr;
}

void OutRing::open(Doorbell doorbell, std::uint32_t bell) {
  const std::lock_guard lock(mutex_);
  if (!memory_) return;
  writer_.emplace(std::exchange(memory_, nullptr));
  doorbell_ = std::make_shared<const Doorbell>(std::move(doorbell));
  bell_ = bell;
  pauses_ = true;
  run_ = 0;
}

OutRing::Put OutRing::put(const Frames& packet) {
  std::shared_ptr<const Doorbell> doorbell;
  std::uint32_t bell = 0;
  {
    const std::lock_guard lock(mutex_);
    if (!writer_) return Put::other_way;
    if (!RingWriter::can_take(packet)) {
      if (pauses_) return Put::other_way;
      pauses_ = true;
      return Put::pauses;
    }
    if (pauses_) {
      if (!writer_->is_empty()) return Put::other_way;
      pauses_ = false;
      ++run_;
      return Put::begins;
    }
    const RingWriter::Put put = writer_->put(packet, run_);
    if (put == RingWriter::Put::no_room) {
      pauses_ = true;
      return Put::pauses;
    }
    if (put == RingWriter::Put::broken) {
      writer_.reset();
      doorbell_ = nullptr;
      return Put::broken;
    }
    doorbell = doorbell_;
    bell = bell_;
  }
  doorbell->ring(bell);  // wakes a thread: not under the lock
  return Put::done;
}

std::uint32_t OutRing::run() const {
  const std::lock_guard lock(mutex_);
  return run_;
}

bool OutRing::is_open() const {
  const std::lock_guard lock(mutex_);
  return writer_.has_value();
}

void OutRing::close() {
  const std::lock_guard lock(mutex_);
  packets_ = 0;
  memory_ = nullptr;
  writer_.reset();
  doorbell_ = nullptr;
}

}  // namespace troupe::detail

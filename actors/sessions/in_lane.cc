#include "actors/sessions/in_lane.h"

#include <algorithm>
#include <string>
#include <utility>

#include "actors/core/assert.h"
#include "actors/sessions/out_lane.h"

namespace troupe {

InLane::Taken InLane::take(TimePoint now, Packet packet, std::vector<Packet>& ready) {
  const std::uint64_t number = packet.header.number;
  if (number <= delivered_ || early_.contains(number)) {
    ack_due_ = now;  // the earlier acknowledgement was lost or delayed
    return Taken::duplicate;
  }
  if (number == delivered_ + 1) {
    count(now, packet);
    ready.push_back(std::move(packet));
    for (auto next = early_.begin(); next != early_.end() && next->first == delivered_ + 1; next = early_.begin()) {
      const std::size_t bytes = size_of(next->second.frames);
      TROUPE_ASSERT(bytes <= early_bytes_, "[session] more bytes are delivered than arrived early");
      early_bytes_ -= bytes;
      count(now, next->second);
      ready.push_back(std::move(early_.extract(next).mapped()));
    }
    return Taken::in_order;
  }
  const std::size_t bytes = size_of(packet.frames);
  const bool too_many = number - delivered_ > options_.window_messages;
  const bool too_large = !early_.empty() && early_bytes_ + bytes > options_.early_bytes_max;
  if (too_many || too_large) return Taken::overflow;
  acknowledge_by(
      early_.empty()
          ? now
          : now + options_.ack_delay);  // tells of the gap as soon as it opens, then of what need not come again
  early_bytes_ += bytes;
  early_.emplace(number, std::move(packet));
  return Taken::early;
}

void InLane::count(TimePoint now, const Packet& packet) {
  ++delivered_;
  ++unacked_messages_;
  unacked_bytes_ += size_of(packet.frames);
  if (unacked_messages_ >= options_.ack_messages || unacked_bytes_ >= options_.ack_bytes) {
    ack_due_ = now;
  } else {
    acknowledge_by(now + options_.ack_delay);
  }
}

void InLane::acknowledge_by(TimePoint due) { ack_due_ = ack_due_ ? std::min(*ack_due_, due) : due; }

void InLane::acknowledged() {
  ack_due_.reset();
  unacked_messages_ = unacked_bytes_ = 0;
}

std::uint64_t InLane::ahead_bits() const {
  std::uint64_t bits = 0;
  for (const auto& [number, packet] : early_) {
    TROUPE_ASSERT(number >= delivered_ + 2,
                  "[session] packet " + std::to_string(number) + " waits although it is next");
    const std::uint64_t bit = number - delivered_ - 2;
    if (bit >= kAheadBits) break;
    bits |= std::uint64_t{1} << bit;
  }
  return bits;
}

}  // namespace troupe

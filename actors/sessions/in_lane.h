// The receiving side of one lane: puts packets into order, removes duplicates, and acknowledges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "actors/clock.h"
#include "actors/sessions/session_header.h"

namespace troupe {

/// When a receiver acknowledges, and how many early packets it keeps.
struct InLaneOptions {
  Duration ack_delay = std::chrono::milliseconds{20};
  std::size_t ack_messages = 32;           ///< acknowledged at once after this many packets,
  std::size_t ack_bytes = 64 << 10;        ///< or this many bytes: the sender keeps its memory until then
  std::size_t window_messages = 4096;      ///< packets farther ahead than this are dropped
  std::size_t early_bytes_max = 64 << 20;  ///< one larger packet is kept if no other is
};

/// Thread rule: one thread at a time.
class InLane {
 public:
  explicit InLane(const InLaneOptions& options) : options_(options) {}

  struct Packet {
    SessionHeader header;
    Frames frames;  ///< after the header
  };
  enum class Taken : std::uint8_t { in_order, early, duplicate, overflow };

  /// Takes one data packet; `ready` gets the packets that are in order now.
  Taken take(TimePoint now, Packet packet, std::vector<Packet>& ready);

  /// Returns when an acknowledgement must be sent at the latest.
  [[nodiscard]] std::optional<TimePoint> ack_due() const { return ack_due_; }
  void acknowledge_by(TimePoint due);
  /// An acknowledgement is being sent.
  void acknowledged();

  [[nodiscard]] std::uint64_t delivered() const { return delivered_; }
  [[nodiscard]] std::uint64_t ahead_bits() const;
  [[nodiscard]] std::size_t early() const { return early_.size(); }

 private:
  void count(TimePoint now, const Packet& packet);

  const InLaneOptions& options_;
  std::uint64_t delivered_ = 0;  ///< the last number in order
  std::map<std::uint64_t, Packet> early_;
  std::size_t early_bytes_ = 0;
  std::size_t unacked_messages_ = 0;
  std::size_t unacked_bytes_ = 0;
  std::optional<TimePoint> ack_due_;
};

}  // namespace troupe

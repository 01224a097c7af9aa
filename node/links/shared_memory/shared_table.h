// The messages between the shared-memory ends of two links: what takes the place of shared frames in a packet, and how
// the two ends find each other. All bytes come from a peer: hostile until decoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "messages/frame.h"
#include "node/links/shared_memory/leases.h"
#include "node/links/shared_memory/segment_inbox.h"
#include "tensor/gpu_memory.h"

namespace troupe::detail {

/// The place of a frame that does not travel.
struct SharedEntry {
  enum class Memory : std::uint8_t {
    senders = 1,    ///< in a segment of the sender, who opened the lease
    receivers = 2,  ///< in a block of the receiver, which the sender holds by the lease
    gpu = 3,        ///< in a block of the sender on a GPU that both use; the sender opened the lease
  };
  std::uint32_t frame = 0;  ///< its position in the packet
  Memory memory = Memory::senders;
  std::uint32_t segment = 0;  ///< of the sender; 0 for `receivers`; for `gpu` the number of the block
  LeaseId lease;
  std::uint64_t offset = 0;  ///< in the segment; for `receivers`: in the block
  std::uint64_t bytes = 0;
  std::uint32_t gpu = 0;    ///< for `gpu`: its number at the sender
  GpuBlockHandle handle{};  ///< for `gpu`: how the driver opens the block
  friend bool operator==(const SharedEntry&, const SharedEntry&) = default;
};

/// Returns the frame that precedes a packet with these entries. REQUIRES: they are in the order of `frame`.
[[nodiscard]] Frame encode(const std::vector<SharedEntry>& entries);

/// Returns whether the first frame of a packet is one.
[[nodiscard]] bool is_shared_table(const Frames& packet);

/// Returns nullopt if the frame is malformed: wrong size, unknown memory, frames out of order.
[[nodiscard]] std::optional<std::vector<SharedEntry>> decode_shared_table(const Frame& frame);

/// A message of the shared-memory end itself.
struct SharedControl {
  enum class Kind : std::uint8_t {
    hello = 1,          ///< where the sender's inbox is, and the token for it
    offered = 2,        ///< the page of leases is in the receiver's inbox
    ready = 3,          ///< the page is mapped; the receiver's inbox shows the sender's process
    ended = 4,          ///< segment `number` of the sender is not used any more
    ring_offered = 5,   ///< the sender's ring is in the receiver's inbox
    ring_ready = 6,     ///< the receiver's ring is read; the doorbell is in its inbox, its bell is `number`
    ring_begins = 7,    ///< packets of run `number` of the sender's ring follow this message
    ring_pauses = 8,    ///< the run has ended before this message
    gpu_offered = 9,    ///< tensors on the sender's GPU `number` can be shared; `inbox` has its uuid and the process
    gpu_ready = 10,     ///< the receiver's GPU `number` is one of the sender's, too
    gpu_refused = 11,   ///< a block of it could not be opened: its tensors are not shared any more
    gpu_ended = 12,     ///< block `number` of the sender is not used any more
    gpu_closed = 13,    ///< the sender has closed the receiver's block `number`
    inbox_full = 14,    ///< the receiver's inbox has no room for another segment
    not_received = 15,  ///< segment `number` of the receiver has not come: there was no descriptor free
    pulse_given = 16,   ///< the sender's page of heartbeats is in the receiver's inbox
  };
  Kind kind = Kind::hello;
  InboxToken token{};
  std::uint32_t number = 0;
  std::string inbox;  ///< at most 107 bytes; of `gpu_offered`: "<uuid> <process>"
};

[[nodiscard]] Frame encode(const SharedControl& control);
[[nodiscard]] bool is_shared_control(const Frames& packet);
/// Returns nullopt if the frame is malformed.
[[nodiscard]] std::optional<SharedControl> decode_shared_control(const Frame& frame);

}  // namespace troupe::detail

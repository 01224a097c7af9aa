// The ring to one peer: made once the two talk, used once the peer reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "messages/frame.h"
#include "node/links/shared_memory/doorbell.h"
#include "node/links/shared_memory/ring.h"
#include "node/links/shared_memory/segment.h"

namespace troupe::detail {

/// Of one life of a peer. Thread rule: any thread may call any member.
class OutRing {
 public:
  /// Counts a packet for the peer. Returns true once, with the packet that makes `packets`: a ring pays now.
  [[nodiscard]] bool is_due(std::size_t packets);

  /// Makes the memory, which the peer must be given. Errors: resource_exhausted.
  [[nodiscard]] Result<FileDescriptor> make();

  /// The peer will not read the ring that was made: frees its memory. None is due until close().
  void give_up();

  /// The peer reads the ring, and wants `bell` of its doorbell rung. Ignored unless the memory was made.
  void open(Doorbell doorbell, std::uint32_t bell);

  enum class Put : std::uint8_t {
    done,
    begins,     ///< nothing was put: packets take the ring from now on; the peer must be told, then call put() again
    pauses,     ///< there is no room now: packets take the other way until the ring is empty; the peer must be told
    other_way,  ///< there is no ring, it pauses, or the packet is too large: it must travel otherwise
    broken,     ///< the peer's bytes are impossible; the ring is closed
  };
  /// Puts a packet into the ring and rings the peer's bell. Messages to the peer about the ring take the other way (the
  /// link below), so that the peer reads packets in order although their way changes.
  [[nodiscard]] Put put(const Frames& packet);

  /// Returns the number of the run that began last, which the peer is told.
  [[nodiscard]] std::uint32_t run() const;

  [[nodiscard]] bool is_open() const;

  /// Ends the ring, and counts anew.
  void close();

 private:
  mutable std::mutex mutex_;
  std::size_t packets_ = 0;                   ///< guarded by mutex_, as the rest
  std::shared_ptr<const Mapping> memory_;     ///< made, and the peer is not known to read it
  std::optional<RingWriter> writer_;          ///< open
  std::shared_ptr<const Doorbell> doorbell_;  ///< of the peer; open
  std::uint32_t bell_ = 0;
  bool pauses_ = true;
  std::uint32_t run_ = 0;  ///< of packets that take the ring one after the other
};

}  // namespace troupe::detail

// A message ready to be sent: cut into pieces that each fit into one packet of a session, with the hash of each.
//
// The thread that sends the message packs it, so that the router's turn neither cuts nor hashes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "messages/frame.h"
#include "messages/ids.h"

namespace troupe {

/// The part of a message that a packet carries.
enum class Part : std::uint8_t {
  whole = 0,    ///< all of it, its frames unchanged
  first = 1,    ///< the sizes of its frames, 8 bytes each, and its frame 0
  middle = 2,   ///< bytes of its other frames, in order, as one sequence
  last = 3,     ///< as middle, and the last of them
  dropped = 4,  ///< nothing: the sender took the message back, earlier pieces are void
};

/// The content of one packet.
struct Piece {
  Part part = Part::whole;
  Frames frames;
  std::size_t bytes = 0;   ///< that travel
  std::uint64_t hash = 0;  ///< 0 if the link guards the bytes
};

/// How messages are cut.
struct Packing {
  std::size_t whole_bytes_max = std::size_t{64} << 10;   ///< larger messages are cut
  std::size_t piece_bytes_max = std::size_t{256} << 10;  ///< of each piece of a cut message
  bool hashed = true;                                    ///< the link does not guard the bytes
};

/// A message ready to be sent.
struct Parcel {
  std::vector<Piece> pieces;  ///< one whole; or first, middle ..., last
  std::size_t bytes = 0;      ///< of the message that travel
  /// The life of the receiver that maps the memory of leased frames: it alone may be sent the message. nullopt: any.
  std::optional<Incarnation> shared_with = {};

  /// Returns true for a message that travels whole, among all other small ones.
  [[nodiscard]] bool is_small() const { return pieces.size() == 1 && bytes <= Packing{}.whole_bytes_max; }
};

/// Answers to one peer, small ones and others apart.
struct AnswerTotals {
  std::size_t small_bytes = 0;
  std::size_t large_bytes = 0;
  std::size_t large = 0;  ///< number of large ones

  void add(const Parcel& answer);
  /// REQUIRES: `other` is part of these.
  void remove(const AnswerTotals& other);
  [[nodiscard]] std::size_t bytes() const { return small_bytes + large_bytes; }
  [[nodiscard]] bool empty() const { return bytes() == 0 && large == 0; }
};

/// When a message leaves.
enum class Haste : std::uint8_t {
  at_once,
  /// With the next small message to that peer, or as late as an acknowledgement: for messages that are not awaited.
  rides,
  /// At once if the peer has acknowledged all small messages, else as `rides`: of many messages the peer handles the
  /// first one while it has nothing else to do, and the others together.
  follows,
};

/// Cuts a message of one or more frames. Copies no frame. If a message is cut, leased frames travel, too. Thread rule:
/// any thread may call.
[[nodiscard]] Parcel pack(Frames message, const Packing& packing = {});

/// Returns the hash of a piece with these frames.
[[nodiscard]] std::uint64_t hash_of(std::span<const Frame> frames);

/// Returns the bytes that travel, or have travelled: of the frames that are in memory of this process only.
[[nodiscard]] std::size_t size_of(std::span<const Frame> frames);

}  // namespace troupe

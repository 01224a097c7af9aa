// A message ready to travel: cut into pieces that each fit into one packet of a session, with the hash of each.
//
// Packed by the thread that sends the message, so that neither cutting nor hashing costs a router's turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "messages/frame.h"

namespace troupe {

/// What of a message a packet carries.
enum class Part : std::uint8_t {
  whole = 0,    ///< all of it, its frames as they are
  first = 1,    ///< the sizes of its frames, 8 bytes each, and its frame 0
  middle = 2,   ///< bytes of its other frames, in order, as one run of bytes
  last = 3,     ///< likewise, and the last of them
  dropped = 4,  ///< nothing: the sender took the message back, what has come of it is void
};

/// What one packet carries of a message.
struct Piece {
  Part part = Part::whole;
  Frames frames;
  std::size_t bytes = 0;   ///< of all frames
  std::uint64_t hash = 0;  ///< 0 where the link guards the bytes
};

/// How messages are taken apart.
struct Packing {
  std::size_t whole_bytes_max = std::size_t{64} << 10;   ///< what is larger is cut
  std::size_t piece_bytes_max = std::size_t{256} << 10;  ///< of the pieces of what is cut
  bool hashed = true;                                    ///< the link does not guard the bytes
};

/// A message, ready to leave.
struct Parcel {
  std::vector<Piece> pieces;  ///< one whole, or first, middle ..., last
  std::size_t bytes = 0;      ///< of the message
};

/// Takes a message of one frame or more apart. Copies no frame. Any thread may call.
[[nodiscard]] Parcel pack(Frames message, const Packing& packing = {});

/// The hash that a piece of these frames has.
[[nodiscard]] std::uint64_t hash_of(std::span<const Frame> frames);

[[nodiscard]] std::size_t size_of(std::span<const Frame> frames);

}  // namespace troupe

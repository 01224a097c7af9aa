#include "actors/sessions/parcel.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "messages/frame.h"

namespace troupe {
namespace {

Piece make_piece(Part part, Frames frames, bool hashed) {
  Piece piece{.part = part, .frames = std::move(frames)};
  piece.bytes = size_of(piece.frames);
  if (hashed) piece.hash = hash_of(piece.frames);
  return piece;
}

Frame table_of(const Frames& message) {
  std::vector<std::byte> table(message.size() * sizeof(std::uint64_t));
  for (std::size_t i = 0; i < message.size(); ++i) {
    detail::store_little_endian(std::span(table).subspan(i * sizeof(std::uint64_t)),
                                std::uint64_t{message[i].bytes.size()});
  }
  return make_frame(std::move(table));
}

}  // namespace

Parcel pack(Frames message, const Packing& packing) {
  Parcel parcel{.pieces = {}, .bytes = size_of(message)};
  if (parcel.bytes <= packing.whole_bytes_max) {
    parcel.pieces.push_back(make_piece(Part::whole, std::move(message), packing.hashed));
    return parcel;
  }
  for (Frame& frame : message) frame.memory = FrameMemory::own;
  parcel.bytes = size_of(message);
  parcel.pieces.push_back(make_piece(Part::first, {table_of(message), message.front()}, packing.hashed));
  Frames piece;
  std::size_t room = packing.piece_bytes_max;
  for (const Frame& frame : std::span(message).subspan(1)) {
    for (std::span<const std::byte> rest = frame.bytes; !rest.empty();) {
      const std::size_t bytes = std::min(rest.size(), room);
      piece.push_back({rest.first(bytes), frame.owner});
      rest = rest.subspan(bytes);
      room -= bytes;
      if (room > 0) continue;
      parcel.pieces.push_back(make_piece(Part::middle, std::exchange(piece, {}), packing.hashed));
      room = packing.piece_bytes_max;
    }
  }
  // A message always has a last piece; that may be empty.
  parcel.pieces.push_back(make_piece(Part::last, std::move(piece), packing.hashed));
  return parcel;
}

void AnswerTotals::add(const Parcel& answer) {
  (answer.is_small() ? small_bytes : large_bytes) += answer.bytes;
  if (!answer.is_small()) ++large;
}

void AnswerTotals::remove(const AnswerTotals& other) {
  small_bytes -= std::min(other.small_bytes, small_bytes);
  large_bytes -= std::min(other.large_bytes, large_bytes);
  large -= std::min(other.large, large);
}

std::uint64_t hash_of(std::span<const Frame> frames) {
  std::uint64_t hash = frames.size();
  for (const Frame& frame : frames) {
    hash = XXH3_64bits_withSeed(frame.bytes.data(), frame.bytes.size(), hash + frame.bytes.size());
  }
  return hash;
}

std::size_t size_of(std::span<const Frame> frames) {
  std::size_t bytes = 0;
  for (const Frame& frame : frames) bytes += frame.memory == FrameMemory::own ? frame.bytes.size() : 0;
  return bytes;
}

}  // namespace troupe

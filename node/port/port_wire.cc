#include "node/port/port_wire.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "messages/frame.h"

namespace troupe::port {
namespace {

using detail::load_little_endian;
using detail::store_little_endian;

constexpr std::uint32_t kMagic = 0x50505254;  // "TRPP"
constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kFixedBytes = 40;
constexpr std::size_t kChecksumAt = 32;

/// Returns how many frames a part needs. No sum, so that no size overflows.
std::uint64_t frames_of(std::uint64_t size, std::size_t frame_bytes_max) {
  return size / frame_bytes_max + (size % frame_bytes_max != 0 ? 1 : 0);
}

std::uint64_t checksum(std::span<const std::byte> header) {
  return XXH3_64bits_withSeed(header.data() + kFixedBytes, header.size() - kFixedBytes,
                              XXH3_64bits(header.data(), kChecksumAt));
}

Frame make_header(const Message& message) {
  const std::vector<std::uint64_t>& sizes = message.body.sizes;
  std::vector<std::byte> bytes(kFixedBytes + sizes.size() * sizeof(std::uint64_t));
  const std::span<std::byte> out{bytes};
  store_little_endian(out, kMagic);
  out[4] = std::byte{kVersion};
  out[5] = static_cast<std::byte>(message.kind);
  store_little_endian(out.subspan(8), message.request.value);
  store_little_endian(out.subspan(16), message.tag);
  store_little_endian(out.subspan(24), static_cast<std::uint64_t>(sizes.size()));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    store_little_endian(out.subspan(kFixedBytes + i * sizeof(std::uint64_t)), sizes[i]);
  }
  store_little_endian(out.subspan(kChecksumAt), checksum(out));
  return make_frame(std::move(bytes));
}

/// Returns what is wrong with a header; empty if it is valid.
std::string complaint(std::span<const std::byte> header) {
  if (header.size() < kFixedBytes) return fmt::format("raw header of {} bytes", header.size());
  if (load_little_endian<std::uint32_t>(header) != kMagic) return "raw header without its magic number";
  if (header[4] != std::byte{kVersion}) {
    return fmt::format("raw message of version {}, expected {}", std::to_integer<unsigned>(header[4]), kVersion);
  }
  const auto kind = std::to_integer<unsigned>(header[5]);
  if (kind < 1 || kind > 3) return fmt::format("raw message of unknown kind {}", kind);
  if (header[6] != std::byte{0} || header[7] != std::byte{0}) return "raw header with reserved bytes set";
  const auto parts = load_little_endian<std::uint64_t>(header.subspan(24));
  if (parts != (header.size() - kFixedBytes) / sizeof(std::uint64_t) || header.size() % sizeof(std::uint64_t) != 0) {
    return fmt::format("raw header of {} bytes announces {} parts", header.size(), parts);
  }
  if (load_little_endian<std::uint64_t>(header.subspan(kChecksumAt)) != checksum(header)) {
    return "raw header with a wrong checksum";
  }
  return {};
}

/// Returns whether the frames are those that `to_body` makes for parts of these sizes.
bool fit(const Body& body, std::size_t frame_bytes_max) {
  auto frame = body.frames.begin();
  for (std::uint64_t left : body.sizes) {
    while (left > 0) {
      const std::uint64_t expected = std::min<std::uint64_t>(left, frame_bytes_max);
      if (frame == body.frames.end() || frame->bytes.size() != expected) return false;
      left -= expected;
      ++frame;
    }
  }
  return frame == body.frames.end();
}

Port::Part part_of(const Frame& frame) { return {frame.bytes.data(), frame.bytes.size(), frame.owner}; }

Port::Part join(std::span<const Frame> frames, std::size_t size) {
  const bool adjacent =
      std::ranges::adjacent_find(frames, [](const Frame& left, const Frame& right) {
        return left.owner != right.owner || left.bytes.data() + left.bytes.size() != right.bytes.data();
      }) == frames.end();
  if (adjacent) return {frames.front().bytes.data(), size, frames.front().owner};
  const auto joined = std::make_shared_for_overwrite<std::byte[]>(size);
  std::byte* to = joined.get();
  for (const Frame& frame : frames) {
    std::memcpy(to, frame.bytes.data(), frame.bytes.size());
    to += frame.bytes.size();
  }
  return {joined.get(), size, joined};
}

}  // namespace

Body to_body(const Port::Parts& parts, std::size_t frame_bytes_max) {
  Body body;
  std::uint64_t count = 0;
  for (const Port::Part& part : parts) {
    count += std::max<std::uint64_t>(1, frames_of(part.size, frame_bytes_max));
    if (count > kFramesMax) {
      throw std::length_error(fmt::format("[port] {} parts: more than {} in one message", parts.size(), kFramesMax));
    }
  }
  body.sizes.reserve(parts.size());
  body.frames.reserve(count);
  for (const Port::Part& part : parts) {
    body.sizes.push_back(part.size);
    std::span<const std::byte> left{static_cast<const std::byte*>(part.data), part.size};
    while (!left.empty()) {
      const std::size_t size = std::min(left.size(), frame_bytes_max);
      body.frames.push_back(Frame{.bytes = left.first(size), .owner = part.owner});
      left = left.subspan(size);
    }
  }
  return body;
}

Port::Parts to_parts(const Body& body, std::size_t frame_bytes_max) {
  Port::Parts parts;
  parts.reserve(body.sizes.size());
  std::span<const Frame> left{body.frames};
  for (const std::uint64_t size : body.sizes) {
    const auto count = static_cast<std::size_t>(frames_of(size, frame_bytes_max));
    const std::span<const Frame> frames = left.first(count);
    left = left.subspan(count);
    if (count == 0) {
      parts.emplace_back();
    } else {
      parts.push_back(count == 1 ? part_of(frames.front()) : join(frames, static_cast<std::size_t>(size)));
    }
  }
  return parts;
}

Frames encode(Message message) {
  Frames frames;
  frames.reserve(1 + message.body.frames.size());
  frames.push_back(make_header(message));
  std::ranges::move(message.body.frames, std::back_inserter(frames));
  return frames;
}

troupe::Result<Message> decode(Frames frames, std::size_t frame_bytes_max) {
  const auto refuse = [](std::string why) { return Error{.code = ErrorCode::decode, .message = std::move(why)}; };
  if (frames.empty()) return refuse("raw message of no frames");
  const std::span<const std::byte> header = frames.front().bytes;
  if (std::string why = complaint(header); !why.empty()) return refuse(std::move(why));
  Message message{.kind = static_cast<Message::Kind>(header[5]),
                  .request = {load_little_endian<std::uint64_t>(header.subspan(8))},
                  .tag = load_little_endian<std::uint64_t>(header.subspan(16)),
                  .body = {}};
  for (std::size_t at = kFixedBytes; at < header.size(); at += sizeof(std::uint64_t)) {
    message.body.sizes.push_back(load_little_endian<std::uint64_t>(header.subspan(at)));
  }
  // A port shares no memory with its peers: who gets a part may read it on the CPU, and more than once.
  if (std::ranges::any_of(frames, [](const Frame& frame) { return frame.memory != FrameMemory::own; }))
    return refuse("raw message in memory of another process");
  frames.erase(frames.begin());
  message.body.frames = std::move(frames);
  if (!fit(message.body, frame_bytes_max)) return refuse("frames that do not fit the sizes of their parts");
  return message;
}

}  // namespace troupe::port

#include "messages/codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "messages/body.h"
#include "tensor/error.h"

namespace troupe::msg {

namespace {

constexpr std::uint32_t kMagic = 0x50555254;  // "TRUP"
constexpr std::uint16_t kVersion = 6;
constexpr std::size_t kNameBytesMax = 0xffff;

/// First 56 bytes of frame 0, in memory layout. Sender's name, receiver's name, zeros up to a multiple of 8, and the
/// size of each tensor frame follow.
struct FixedHeader {
  std::uint32_t magic = kMagic;
  std::uint16_t version = kVersion;
  std::uint16_t tag = 0;
  std::uint16_t from_size = 0;
  std::uint16_t to_size = 0;
  std::uint32_t zero = 0;
  std::uint64_t request = 0;
  std::uint64_t in_reply_to = 0;
  std::uint64_t body_size = 0;
  std::uint32_t frame_count = 0;
  std::uint32_t zero_too = 0;
  std::uint64_t checksum = 0;  ///< of the header, computed with this field zero
};
static_assert(sizeof(FixedHeader) == 56);

using FrameSize = std::uint64_t;

using Bytes = std::span<const std::byte>;

std::uint64_t hash_of(Bytes bytes, std::uint64_t seed = 0) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::size_t names_size(const FixedHeader& header) {
  return (std::size_t{header.from_size} + header.to_size + 7) / 8 * 8;
}

/// Returns the hash of what follows the fixed part, seeded with the hash of the fixed part with checksum 0.
std::uint64_t checksum_of(FixedHeader fixed, Bytes header) {
  fixed.checksum = 0;
  const std::uint64_t begin = hash_of({reinterpret_cast<const std::byte*>(&fixed), sizeof fixed});
  return hash_of(header.subspan(sizeof fixed), begin);
}

void require(bool fits, std::string_view what, std::size_t value, std::size_t max) {
  if (!fits) throw EncodeError(ErrorCode::too_large, fmt::format("[encode] {}: {}, at most {}", what, value, max));
}

void require_limits(const Envelope& envelope, const Encoded& encoded, const DecodeLimits& limits) {
  const std::size_t name_max = std::min(kNameBytesMax, limits.text_bytes_max);
  require(envelope.from.size() <= name_max, "bytes in a node name", envelope.from.size(), name_max);
  require(envelope.to.size() <= name_max, "bytes in an actor name", envelope.to.size(), name_max);
  require(encoded.bytes.size() <= limits.body_bytes_max, "bytes in a message without its tensors", encoded.bytes.size(),
          limits.body_bytes_max);
  require(encoded.frames.size() <= limits.frames_max, "tensors in a message", encoded.frames.size(), limits.frames_max);
  for (const Frame& frame : encoded.frames) {
    require(frame.bytes.size() <= limits.frame_bytes_max, "bytes in a tensor", frame.bytes.size(),
            limits.frame_bytes_max);
  }
}

Frame make_header(const Envelope& envelope, MessageTag tag, const Encoded& encoded) {
  FixedHeader fixed;
  fixed.tag = static_cast<std::uint16_t>(tag);
  fixed.from_size = static_cast<std::uint16_t>(envelope.from.size());
  fixed.to_size = static_cast<std::uint16_t>(envelope.to.size());
  fixed.request = envelope.request.value;
  fixed.in_reply_to = envelope.in_reply_to.value;
  fixed.body_size = encoded.bytes.size();
  fixed.frame_count = static_cast<std::uint32_t>(encoded.frames.size());

  const std::size_t bytes_total = sizeof fixed + names_size(fixed) + encoded.frames.size() * sizeof(FrameSize);
  auto bytes = std::make_shared<std::byte[]>(bytes_total);
  const std::span<std::byte> header(bytes.get(), bytes_total);
  std::byte* to = header.data() + sizeof fixed;
  std::memcpy(to, envelope.from.data(), envelope.from.size());
  std::memcpy(to + envelope.from.size(), envelope.to.data(), envelope.to.size());
  to += names_size(fixed);
  for (const Frame& frame : encoded.frames) {
    const FrameSize size = frame.bytes.size();
    std::memcpy(to, &size, sizeof size);
    to += sizeof size;
  }
  fixed.checksum = checksum_of(fixed, header);
  std::memcpy(header.data(), &fixed, sizeof fixed);
  return {header, std::move(bytes)};
}

/// The fields of frame 0.
struct Header {
  FixedHeader fixed;
  Envelope envelope;
  Bytes sizes;

  [[nodiscard]] FrameSize frame_size(std::size_t index) const {
    FrameSize size = 0;
    std::memcpy(&size, sizes.data() + index * sizeof size, sizeof size);
    return size;
  }
};

/// A message of another protocol version: valid, but not for this one.
struct OtherVersion {
  unsigned version;
};

[[noreturn]] void fail(const std::string& text) { throw DecodeError("[decode] " + text); }

FixedHeader read_fixed(Bytes header) {
  FixedHeader fixed;
  if (header.size() < sizeof fixed) fail(fmt::format("header of {} bytes", header.size()));
  std::memcpy(&fixed, header.data(), sizeof fixed);
  if (fixed.magic != kMagic) fail(fmt::format("magic number {:#010x}", fixed.magic));
  if (fixed.version != kVersion) throw OtherVersion{fixed.version};
  if (fixed.zero != 0 || fixed.zero_too != 0) fail("reserved bits of the header are not zero");
  return fixed;
}

Header read_header(Bytes bytes, const DecodeLimits& limits) {
  const FixedHeader fixed = read_fixed(bytes);
  if (fixed.frame_count > limits.frames_max) fail(fmt::format("{} tensor frames", fixed.frame_count));
  const std::size_t sizes_at = sizeof fixed + names_size(fixed);
  const std::size_t size = sizes_at + std::size_t{fixed.frame_count} * sizeof(FrameSize);
  if (bytes.size() != size) fail(fmt::format("header of {} bytes announces {}", bytes.size(), size));
  if (fixed.checksum != checksum_of(fixed, bytes)) fail("checksum of the header differs");
  if (std::max(fixed.from_size, fixed.to_size) > limits.text_bytes_max) fail("name too long");

  const auto* names = reinterpret_cast<const char*>(bytes.data() + sizeof fixed);
  Header header{fixed, {}, bytes.subspan(sizes_at)};
  header.envelope.from.assign(names, fixed.from_size);
  header.envelope.to.assign(names + fixed.from_size, fixed.to_size);
  header.envelope.request.value = fixed.request;
  header.envelope.in_reply_to.value = fixed.in_reply_to;
  return header;
}

Header read_header(std::span<const Frame> frames, const DecodeLimits& limits) {
  if (frames.size() < 2) fail(fmt::format("message of {} frames", frames.size()));
  Header header = read_header(frames[0].bytes, limits);
  if (header.fixed.frame_count != frames.size() - 2) {
    fail(fmt::format("{} tensor frames announced, {} received", header.fixed.frame_count, frames.size() - 2));
  }
  return header;
}

void check_sizes(const Header& header, std::span<const Frame> frames, const DecodeLimits& limits) {
  const std::size_t body = frames[1].bytes.size();
  if (body > limits.body_bytes_max) fail(fmt::format("body of {} bytes, at most {}", body, limits.body_bytes_max));
  if (header.fixed.body_size != body) fail(fmt::format("body of {} bytes announces {}", body, header.fixed.body_size));
  for (std::size_t i = 0; i + 2 < frames.size(); ++i) {
    const std::size_t size = frames[i + 2].bytes.size();
    if (size > limits.frame_bytes_max) fail(fmt::format("frame of {} bytes, at most {}", size, limits.frame_bytes_max));
    if (header.frame_size(i) != size) {
      fail(fmt::format("frame {} of {} bytes announces {}", i, size, header.frame_size(i)));
    }
  }
}

Outside outside_of(Header header) {
  Outside outside{std::move(header.envelope), MessageTag{header.fixed.tag}, header.fixed.body_size};
  for (std::size_t i = 0; i < header.fixed.frame_count; ++i) {
    if (__builtin_add_overflow(outside.bytes, header.frame_size(i), &outside.bytes))
      fail("more bytes than can be counted");
  }
  return outside;
}

/// Runs `read`; returns its exception as an Error.
template <class T, class Read>
Result<T> guarded(Read read) {
  try {
    return read();
  } catch (const DecodeError& failure) {
    return make_error(ErrorCode::decode, failure.what());
  } catch (const OtherVersion& other) {
    return make_error(ErrorCode::version_mismatch,
                      fmt::format("message of protocol version {}, ours is {}", other.version, kVersion));
  } catch (const std::bad_alloc&) {
    return make_error(ErrorCode::resource_exhausted, "no memory for a received message");
  } catch (const DeviceMemoryError& failure) {
    return make_error(ErrorCode::resource_exhausted, failure.what());
  } catch (const std::exception& failure) {  // an exception of a value's own type, which rejects the bytes
    return make_error(ErrorCode::decode, failure.what());
  }
}

}  // namespace

Result<Frames> encode(const Envelope& envelope, const AnyMessage& message, const DecodeLimits& limits) {
  try {
    OutArchive ar(nullptr, limits.text_bytes_max);
    save_body(message, ar);
    Encoded encoded = ar.finish();
    require_limits(envelope, encoded, limits);
    Frames frames;
    frames.reserve(2 + encoded.frames.size());
    frames.push_back(make_header(envelope, info_of(message).tag(), encoded));
    frames.push_back(make_frame(std::move(encoded.bytes)));
    std::move(encoded.frames.begin(), encoded.frames.end(), std::back_inserter(frames));
    return frames;
  } catch (const EncodeError& failure) {
    return make_error(failure.code(), failure.what());
  }
}

Result<Decoded> decode(std::span<const Frame> frames, const DecodeLimits& limits) {
  return guarded<Decoded>([&]() -> Result<Decoded> {
    Header header = read_header(frames, limits);
    check_sizes(header, frames, limits);
    InArchive ar(frames[1].bytes, frames.subspan(2), nullptr, limits.text_bytes_max, frames[1].owner);
    return Decoded{std::move(header.envelope), load_body(MessageTag{header.fixed.tag}, ar)};
  });
}

Result<Outside> decode_outside(std::span<const Frame> frames, const DecodeLimits& limits) {
  return guarded<Outside>([&]() -> Result<Outside> {
    Header header = read_header(frames, limits);
    check_sizes(header, frames, limits);
    return outside_of(std::move(header));
  });
}

Result<Outside> decode_header(const Frame& header, const DecodeLimits& limits) {
  return guarded<Outside>([&]() -> Result<Outside> { return outside_of(read_header(header.bytes, limits)); });
}

}  // namespace troupe::msg

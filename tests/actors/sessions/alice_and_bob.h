// Two ends of a session under test: their lives, the time, and messages with a name.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "actors/sessions/session.h"

namespace troupe::testing {

inline constexpr Incarnation kAlice{.high = 0xA, .low = 1};
inline constexpr Incarnation kBob{.high = 0xB, .low = 2};

inline TimePoint at(Duration since_start) { return TimePoint{std::chrono::hours{1}} + since_start; }

inline Frame frame(std::string_view text) {
  auto owner = std::make_shared<std::string>(text);
  return Frame{.bytes = std::as_bytes(std::span{*owner}), .owner = owner};
}

inline std::string text(const Frame& of) { return {reinterpret_cast<const char*>(of.bytes.data()), of.bytes.size()}; }

/// Frame 0 of a parcel's message is its name; the other frames are padding.
inline std::string name_of_message(const Frames& frames) { return text(frames.at(0)); }

inline constexpr Packing kSmallPieces{.whole_bytes_max = 100, .piece_bytes_max = 50};

inline Parcel parcel(const std::string& name, std::size_t bytes) {
  if (bytes == 0) return pack({frame(name), frame("")}, kSmallPieces);
  return pack({frame(name), frame(std::string(bytes / 3, 'x')), frame(""), frame(std::string(bytes - bytes / 3, 'y'))},
              kSmallPieces);
}

}  // namespace troupe::testing

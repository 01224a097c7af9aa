// Decoders as functions of bytes, for a fuzzer and for the replay of what it has found.
//
// A target takes any bytes and must return. It throws Broken if a rule of its decoder does not hold; any other
// exception that escapes is an error, too. The memory that it needs is bounded by run().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "messages/frame.h"

namespace troupe::fuzz {

using Bytes = std::span<const std::byte>;
using Input = std::vector<std::byte>;

struct Target {
  std::string_view name;
  std::string_view sources;  ///< of the decoder, separated by spaces: the lines that a fuzzer is to reach
  void (*decode)(Bytes input);
  std::vector<Input> (*seeds)();  ///< what is valid, by the encoders of this build
  std::size_t bytes_max = 4096;   ///< of an input that a fuzzer makes
};

/// A rule of a decoder does not hold.
class Broken : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Throws Broken with `rule` unless it holds.
inline void expect(bool holds, const char* rule) {
  if (!holds) throw Broken(rule);
}

/// All targets, in the order of the layers.
[[nodiscard]] std::vector<Target> all_targets();

/// Returns the target; throws std::invalid_argument that lists those that exist.
[[nodiscard]] Target find_target(std::string_view name);

/// The memory that decoding `bytes` bytes may take.
[[nodiscard]] constexpr std::size_t memory_max(std::size_t bytes) { return (std::size_t{64} << 10U) + 16 * bytes; }

/// Decodes `input` once. Throws Broken also if more than memory_max() was allocated at one time.
void run(const Target& target, Bytes input);

/// Reads numbers and bytes from the front of an input. At its end numbers are zero and bytes are none.
class Reader {
 public:
  explicit Reader(Bytes input) : rest_(input) {}

  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  [[nodiscard]] std::uint8_t u8();
  [[nodiscard]] std::uint16_t u16();
  [[nodiscard]] std::uint64_t u64();
  /// A number of 0 to 2^63, small ones as likely as large ones.
  [[nodiscard]] std::uint64_t number();
  /// Returns at most so many bytes.
  [[nodiscard]] Bytes bytes(std::size_t count);
  [[nodiscard]] Bytes rest();

 private:
  Bytes rest_;
};

/// Frames as an input has them: their number (1), the size of each (2), their bytes. The last frame has what remains.
/// If the highest bit of the number is set, they are aligned as memory of tensors is.
[[nodiscard]] Frames frames_of(Bytes input);

/// The reverse. REQUIRES: at most 127 frames, each below 64 KiB.
[[nodiscard]] Input input_of(const Frames& frames);

[[nodiscard]] Input input_of(std::string_view text);
[[nodiscard]] inline Input input_of(Bytes bytes) { return {bytes.begin(), bytes.end()}; }
[[nodiscard]] std::string_view text_of(Bytes input);

// The targets of each source.
[[nodiscard]] std::vector<Target> file_targets();
[[nodiscard]] std::vector<Target> host_targets();
[[nodiscard]] std::vector<Target> link_targets();
[[nodiscard]] std::vector<Target> message_targets();
[[nodiscard]] std::vector<Target> session_targets();

}  // namespace troupe::fuzz

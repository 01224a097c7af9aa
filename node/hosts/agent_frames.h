// The bytes between `troupe up` and `troupe agent`, which ssh carries: frames of a kind and a body. No descriptors:
// bytes go in, frames come out.
//
//   frame:  u32 size of the body, little endian | u8 kind | body
//
// The agent's first bytes are kAgentGreeting. What a remote shell prints before it (/etc/profile, a message of the
// day) is no frame and is shown to the user.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace troupe::detail {

inline constexpr std::string_view kAgentGreeting = "\x1etroupe-agent 4\x1e\n";

/// The kinds of frames. Bodies are JSON unless said otherwise; see agent_messages.h.
enum class AgentFrameKind : std::uint8_t {
  // from the launcher
  prepare = 1,
  program = 2,  ///< u32 index of the program | a piece of its contents, in order; an empty piece ends it
  secret = 3,   ///< the cluster's 32 secret bytes
  start = 4,
  keys = 8,       ///< u32 node | its key ring; before start
  signal = 5,     ///< u32 node | i32 signal
  question = 6,   ///< u64 id | u32 node | a question for its control socket
  ping = 7,       ///< empty
  stopping = 14,  ///< empty: nodes are told to stop from now on; a node that has ended before ended by itself
  hold = 13,      ///< u8 1: nodes that print wait, for LogBacklog::kPatience at most; 0: no longer
  clock = 9,      ///< empty; from here on of `troupe doctor`: see node/doctor/doctor_messages.h
  examine = 10,   ///< empty
  listen = 11,
  reach = 12,
  // from the agent
  welcome = 65,
  prepared = 66,
  started = 67,
  refused = 68,
  output = 69,  ///< u32 node | u8 stream (Output) | bytes
  lost = 77,    ///< u32 node | u8 stream | u64 lines | u64 bytes: dropped before the next output of this stream
  exited = 78,  ///< u32 node | i32 wait status | u8 1: before `stopping` came; does not wait for the node's output
  ended = 70,   ///< u32 node: it has exited, and all its output came before
  answer = 71,  ///< u64 id | u8 1 for an answer, 0 for a problem | text
  pong = 72,    ///< a text, what the agent is at before it reads on: "looks up NAME"; empty: nothing that takes long
  time = 73,    ///< u64 microseconds since 1970 by the host's clock
  facts = 74,
  listening = 75,
  reached = 76,
};

struct AgentFrame {
  AgentFrameKind kind;
  std::string body;
};

/// The other side does not follow the protocol; the text says how.
class AgentProtocolError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Returns the bytes of a frame. REQUIRES: `body` has at most AgentFrameReader::kBodyMax bytes.
[[nodiscard]] std::string encode_frame(AgentFrameKind kind, std::string_view body);

/// Cuts received bytes into frames.
class AgentFrameReader {
 public:
  static constexpr std::size_t kBodyMax = 8 << 20;

  /// Takes bytes, which may begin and end anywhere in a frame.
  void feed(std::string_view bytes) { bytes_.append(bytes); }

  /// Returns the next complete frame; nullopt if there is none yet. Throws AgentProtocolError for a body beyond
  /// kBodyMax, as soon as its size is known.
  [[nodiscard]] std::optional<AgentFrame> next();

 private:
  std::string bytes_;
  std::size_t taken_ = 0;  ///< bytes of the front that were returned
};

/// Finds kAgentGreeting in what comes before the first frame.
class AgentGreetingReader {
 public:
  static constexpr std::size_t kNoiseMax = 64 << 10;

  /// Takes bytes. Returns those after the greeting once it is complete; nullopt before. Throws AgentProtocolError
  /// after kNoiseMax bytes without a greeting.
  [[nodiscard]] std::optional<std::string> feed(std::string_view bytes);

  /// Returns the text before the greeting, so far.
  [[nodiscard]] std::string_view noise() const;

 private:
  std::string bytes_;
  std::optional<std::size_t> greeting_;  ///< its position
};

/// Appends `value` to a body, little endian.
void put_u32(std::string& body, std::uint32_t value);

/// Takes a u32 from the front of `body`. Throws AgentProtocolError if there are fewer than four bytes.
[[nodiscard]] std::uint32_t take_u32(std::string_view& body);

/// As put_u32 and take_u32, eight bytes.
void put_u64(std::string& body, std::uint64_t value);
[[nodiscard]] std::uint64_t take_u64(std::string_view& body);

/// As take_u32, one byte.
[[nodiscard]] std::uint8_t take_u8(std::string_view& body);

}  // namespace troupe::detail

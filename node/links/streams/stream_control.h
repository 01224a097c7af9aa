// How two nodes agree on a stream: messages of one frame over the link that connects them already.
//
//   opener -> acceptor   open     id, share, ciphers
//   acceptor -> opener   accept   id, share, cipher, port; the opener connects to it and begins with a preamble
//                        refuse   id, reason
//
// Little-endian, 64 bytes and more: 0 magic "TRPO", 4 kind, 5 ciphers or cipher, 6 port (2), 8 id (16), 24 share (32),
// 56 zero (8), 64 the reason. What a kind does not have is zero. All bytes come from a peer: hostile until decoded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "messages/frame.h"
#include "node/links/streams/stream_keys.h"

namespace troupe::detail {

struct StreamControl {
  static constexpr std::size_t kReasonMax = 200;

  enum class Kind : std::uint8_t { open = 1, accept = 2, refuse = 3 };
  Kind kind = Kind::open;
  StreamId id{};
  KeyShare share{};         ///< of open and accept
  CipherSet ciphers = 0;    ///< of open: which the opener takes; of accept: the chosen one alone
  std::uint16_t port = 0;   ///< of accept: on the host at which the acceptor listens
  std::string reason = {};  ///< of refuse: printable characters; longer ones are cut
  friend bool operator==(const StreamControl&, const StreamControl&) = default;
};

[[nodiscard]] Frame encode(const StreamControl& control);

[[nodiscard]] bool is_stream_control(const Frames& packet);

/// Returns nullopt if the frame is malformed.
[[nodiscard]] std::optional<StreamControl> decode_stream_control(const Frame& frame);

}  // namespace troupe::detail

// What is written on the outside of a message.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "messages/ids.h"

namespace troupe::msg {

/// Which traffic a message travels with; a link lets control overtake bulk.
enum class Lane : std::uint8_t { control = 0, bulk = 1 };

/// Who says it to whom, and which conversation it belongs to. A reply repeats the request's id in `in_reply_to`.
struct Envelope {
  NodeName from{};                       ///< checked by the receiver against the authenticated session
  std::string to{};                      ///< actor name, "ps0/worker"
  RequestId request{};                   ///< zero unless an answer is expected
  RequestId in_reply_to{};               ///< zero unless this is an answer
  std::chrono::microseconds deadline{};  ///< time that remained when it was sent; zero = while the peer lives
  Lane lane = Lane::control;
  friend bool operator==(const Envelope&, const Envelope&) = default;
};

}  // namespace troupe::msg

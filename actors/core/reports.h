// What the parts of a node report of themselves: the lines of Node::stack and Node::debug_info.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/clock.h"
#include "messages/ids.h"

namespace troupe {

/// A request of this node that waits for its answer.
struct WaitingCall {
  std::string operation;         ///< "rpc project"
  NodeName peer;
  Duration age{};
  std::optional<Duration> left;  ///< until its deadline; nothing: while the peer lives
  std::string site;              ///< "trainer.cc:57", where the program made it; empty if that is not known
  friend bool operator==(const WaitingCall&, const WaitingCall&) = default;
};

/// A function that this node runs for another, or will.
struct ServedFunction {
  std::string operation;
  NodeName caller;
  Duration age{};
  friend bool operator==(const ServedFunction&, const ServedFunction&) = default;
};

/// What one use of a value is doing.
enum class UseState : std::uint8_t {
  has_turn,
  waits_elsewhere,  ///< began, gave its turn up, and waits for something else
  returning,        ///< its wait is over: waits to go on
  arriving,         ///< waits for its first turn
  early,            ///< waits for the value to exist
};

/// "has the turn"
[[nodiscard]] constexpr std::string_view name_of(UseState state) {
  switch (state) {
    case UseState::has_turn: return "has the turn";
    case UseState::waits_elsewhere: return "waits elsewhere";
    case UseState::returning: return "waits to go on";
    case UseState::arriving: return "waits for its turn";
    case UseState::early: return "waits for the value";
  }
  return "";
}

/// A function, or a guard of local_value, that uses a value which lives here.
struct ValueUser {
  std::string what;  ///< "rpc forward for trainer0"
  UseState state = UseState::has_turn;
  Duration age{};
  friend bool operator==(const ValueUser&, const ValueUser&) = default;
};

/// A value that lives here and is being used: who has the turn, then who waits for it, in the order of their turns.
struct ValueInUse {
  std::string value;  ///< id of its reference: "trainer0.17"
  std::vector<ValueUser> users;
  friend bool operator==(const ValueInUse&, const ValueInUse&) = default;
};

/// An autograd context that is alive here.
struct OpenContext {
  std::string context;          ///< "trainer0.3"
  std::vector<NodeName> peers;  ///< nodes that take part with this one
  std::size_t passes = 0;       ///< backward passes that run or wait here
  Duration age{};
  friend bool operator==(const OpenContext&, const OpenContext&) = default;
};

/// A barrier or gathering that meets at this node and is not complete.
struct OpenBarrier {
  std::string operation;
  std::vector<std::pair<NodeName, Duration>> waiting;  ///< who is there, and since when
  std::vector<NodeName> missing;
  friend bool operator==(const OpenBarrier&, const OpenBarrier&) = default;
};

/// Work of a thread of the pool.
struct BusyThread {
  std::string job;
  Duration age{};
  bool waiting = false;  ///< in one of our waits
  friend bool operator==(const BusyThread&, const BusyThread&) = default;
};

/// What went between this node and one peer, since the session with that life of it began.
struct PeerTraffic {
  std::uint64_t calls_sent = 0;      ///< requests to the peer
  std::uint64_t calls_received = 0;  ///< requests from the peer
  std::uint64_t bytes_sent = 0;      ///< resends, acknowledgements and heartbeats among them
  std::uint64_t bytes_received = 0;
  std::uint64_t packets_damaged = 0;  ///< came with other bytes than were sent, and were asked for again
  friend bool operator==(const PeerTraffic&, const PeerTraffic&) = default;
};

/// What of one peer waits on this node or stays there, and what waits there for it. The bounds are PeerLimits.
struct PeerHoldings {
  std::size_t waiting_calls = 0;  ///< requests to the peer that have not left: it has not granted them, or they are on their way
  std::size_t waiting_bytes = 0;
  std::size_t queued_calls = 0;   ///< requests of the peer that are here and have not begun
  std::size_t answer_bytes = 0;   ///< of answers that it has not taken
  std::size_t owners = 0;         ///< values here that it made, or was the first to speak of
  std::size_t forks = 0;          ///< handles of values here that it holds
  std::size_t contexts = 0;       ///< autograd contexts that its calls brought here
  friend bool operator==(const PeerHoldings&, const PeerHoldings&) = default;
};

}  // namespace troupe

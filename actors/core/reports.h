// The reports of a node's parts: the lines of Node::stack and Node::debug_info.
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

/// What shutdown does about references to other nodes' values that the program still holds.
enum class Leaks : std::uint8_t {
  warn,  ///< logs one line for each
  fail,  ///< Node::shutdown throws at its end
};

/// A request of this node that waits for its answer.
struct WaitingCall {
  std::string operation;  ///< "rpc project"
  NodeName peer;
  Duration age{};
  std::optional<Duration> left;  ///< until its deadline; nullopt: while the peer lives
  std::string site;              ///< the program's line, "trainer.cc:57"; empty if unknown
  friend bool operator==(const WaitingCall&, const WaitingCall&) = default;
};

/// A function that this node runs for another node, or that is queued for it.
struct ServedFunction {
  std::string operation;
  NodeName caller;
  Duration age{};
  friend bool operator==(const ServedFunction&, const ServedFunction&) = default;
};

/// The state of one use of a value.
enum class UseState : std::uint8_t {
  has_turn,
  waits_elsewhere,  ///< started, gave its turn up, and waits for something else
  returning,        ///< its wait is over: waits for its turn to continue
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

/// A function, or a local_value guard, that uses a value of this node.
struct ValueUser {
  std::string what;  ///< "rpc forward for trainer0"
  UseState state = UseState::has_turn;
  Duration age{};
  friend bool operator==(const ValueUser&, const ValueUser&) = default;
};

/// A value of this node that is in use: the user that has the turn, then the waiting ones, in the order of turns.
struct ValueInUse {
  std::string value;  ///< id of its reference: "trainer0.17"
  std::vector<ValueUser> users;
  friend bool operator==(const ValueInUse&, const ValueInUse&) = default;
};

/// An autograd context that is open on this node.
struct OpenContext {
  std::string context;          ///< "trainer0.3"
  std::vector<NodeName> peers;  ///< the other nodes that participate
  std::size_t passes = 0;       ///< backward passes that run or wait on this node
  std::size_t sends = 0;        ///< messages of this node with variables whose gradients come back to it
  Duration age{};
  friend bool operator==(const OpenContext&, const OpenContext&) = default;
};

/// An incomplete barrier or gathering whose meeting node is this one.
struct OpenBarrier {
  std::string operation;
  std::vector<std::pair<NodeName, Duration>> waiting;  ///< members that have arrived, and how long ago
  std::vector<NodeName> missing;
  friend bool operator==(const OpenBarrier&, const OpenBarrier&) = default;
};

/// The work of a pool thread.
struct BusyThread {
  std::string job;
  Duration age{};
  bool waiting = false;  ///< blocked in a wait of the runtime
  friend bool operator==(const BusyThread&, const BusyThread&) = default;
};

/// The traffic between this node and one peer since the session with that life of the peer started.
struct PeerTraffic {
  std::uint64_t calls_sent = 0;      ///< requests for the peer, also those that failed before they left
  std::uint64_t calls_received = 0;  ///< requests from the peer
  std::uint64_t bytes_sent = 0;      ///< including resends and acknowledgements
  std::uint64_t bytes_received = 0;
  std::uint64_t packets_damaged = 0;  ///< arrived with other bytes than were sent, and were requested again
  friend bool operator==(const PeerTraffic&, const PeerTraffic&) = default;
};

/// What a node keeps for one peer, and what waits for that peer. PeerLimits has the bounds.
struct PeerHoldings {
  std::size_t waiting_calls = 0;  ///< requests to the peer without a grant, or queued to be sent
  std::size_t waiting_bytes = 0;
  std::size_t queued_calls = 0;  ///< requests of the peer that have arrived and not started
  std::size_t answer_bytes = 0;  ///< of answers that the peer has not acknowledged
  std::size_t owners = 0;        ///< values of this node that the peer created, or was the first to name
  std::size_t forks = 0;         ///< handles of this node's values that the peer holds
  std::size_t contexts = 0;      ///< autograd contexts that the peer's calls brought here
  std::size_t shards = 0;        ///< shards here of optimizers that the peer made
  friend bool operator==(const PeerHoldings&, const PeerHoldings&) = default;
};

namespace detail {

/// A node's counts of its own parts, for debug info and tests.
struct NodeCounts {
  std::size_t pending_requests = 0;
  std::size_t served_calls = 0;
  std::size_t waiting_calls = 0;
  std::size_t owned_values = 0;
  std::size_t handles = 0;
  std::size_t contexts = 0;
  std::size_t shards = 0;
  friend bool operator==(const NodeCounts&, const NodeCounts&) = default;
};

}  // namespace detail

}  // namespace troupe

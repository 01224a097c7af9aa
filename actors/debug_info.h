// A node's counts of its parts and its conversations with peers, as numbers and as text.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "actors/clock.h"
#include "actors/core/reports.h"
#include "actors/link.h"
#include "actors/worker_info.h"

namespace troupe {

namespace detail {
class NodeCore;
}  // namespace detail

/// The result of Node::debug_info. Each part of the node counts its own numbers, at nearly the same moment.
struct DebugInfo {
  WorkerInfo node;

  // References.
  std::size_t owners = 0;         ///< values owned by this node, kept because references to them exist
  std::size_t handles = 0;        ///< distinct values that references of this node refer to, its own included
  std::size_t forks = 0;          ///< of these, values of other nodes
  std::size_t pending_users = 0;  ///< of these, not confirmed by the owner yet

  // Calls.
  std::size_t pending_calls = 0;  ///< requests of this node without an answer
  std::size_t waiting_calls = 0;  ///< of these, not sent yet
  std::size_t served_calls = 0;   ///< functions that run for other nodes, or wait to

  // Autograd and optimizers.
  std::size_t contexts = 0;
  std::size_t backward_passes = 0;
  std::size_t shards = 0;

  // The pool.
  std::size_t pool_threads = 0;     ///< as configured: functions that compute at the same time
  std::size_t threads_busy = 0;     ///< threads that run a function
  std::size_t threads_waiting = 0;  ///< threads whose function is blocked in a wait of the runtime
  std::size_t threads_idle = 0;

  /// Peers that are up but silent, and the duration of the silence.
  std::map<NodeName, Duration> unreachable;

  /// By peer, without peers that hold nothing. This node's requests to itself are under its own name.
  std::map<NodeName, PeerHoldings> peers;

  /// By peer that is up; nullopt while Node::measure_traffic(false).
  std::optional<std::map<NodeName, PeerTraffic>> traffic;

  /// nullopt if the node's transport shares none.
  std::optional<SharedMemoryUse> shared_memory;

  /// nullopt if the node's transport has no streams, or they are switched off.
  std::optional<StreamUse> streams;

  /// How messages travel, by peer that is up; empty if the node's transport has one way only.
  std::map<NodeName, PeerTransport> transports;

  friend bool operator==(const DebugInfo&, const DebugInfo&) = default;

  /// One "key: value" per line, keys as the fields above; traffic as "traffic.ps0.bytes_sent: 1024", holdings as
  /// "peers.ps0.owners: 3", silence as "unreachable.ps0: 4.2 s", shared memory as "shared.leases: 2", streams as
  /// "streams.out: 1", transports as "transport.ps0: unix sockets (no ring: ...)". A metric that is switched off has no
  /// line.
  [[nodiscard]] std::string text() const;
};

namespace detail {

/// As Node::debug_info. The rank is 0 until the node is a member.
[[nodiscard]] DebugInfo debug_info_of(NodeCore& node);

}  // namespace detail

}  // namespace troupe

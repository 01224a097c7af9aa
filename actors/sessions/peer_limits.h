// The bounds on what a node sends to one peer, accepts from it, and keeps for it.
#pragma once

#include <cstddef>

namespace troupe {

/// Bounds per peer, the same for all peers of a node. Each is a key of that name in section [peer] of a config file.
struct PeerLimits {
  // Sending: a call beyond the bound is refused with resource_exhausted, `ran: never`.
  std::size_t waiting_calls_max = 200'000;               ///< unsent calls to one peer
  std::size_t waiting_bytes_max = std::size_t{1} << 30;  ///< the same in bytes; one larger call is accepted beside them

  // Receiving: calls beyond the bound wait at the peer, within their deadlines.
  std::size_t calls_max = 1024;                        ///< calls of one peer that have not started; at least 64
  std::size_t nested_calls_max = 256;                  ///< the same, made inside served functions; at least 16
  std::size_t bulk_bytes_max = std::size_t{64} << 20;  ///< large calls, answers, control messages of a peer; >= 2 MiB
  std::size_t answer_bytes_max = std::size_t{256} << 20;  ///< unacknowledged answers but one; above it calls wait

  // Keeping: a message that would add one more is refused with resource_exhausted, `ran: never`.
  std::size_t owners_max = 1'000'000;  ///< values here that one peer made or was the first to name
  std::size_t forks_max = 1'000'000;   ///< handles of values here that one peer holds
  std::size_t contexts_max = 100'000;  ///< autograd contexts that calls of one peer brought here
  std::size_t shards_max = 10'000;     ///< shards here of optimizers that one peer made

  friend bool operator==(const PeerLimits&, const PeerLimits&) = default;
};

}  // namespace troupe

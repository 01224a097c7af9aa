// How much a node sends to one peer at a time, takes of it, and keeps for it.
#pragma once

#include <cstddef>

namespace troupe {

/// Bounds per peer, the same for all peers of a node. Each has a key of its name in section [peer] of a config file.
struct PeerLimits {
  // What leaves: a call beyond it is refused with resource_exhausted, `ran: never`.
  std::size_t waiting_calls_max = 200'000;               ///< calls to one peer that have not left
  std::size_t waiting_bytes_max = std::size_t{1} << 30;  ///< likewise; one larger call is taken beside them

  // What comes: calls beyond it wait at the peer, within their deadlines.
  std::size_t calls_max = 1024;                         ///< that have not begun, of one peer; 64 at least
  std::size_t nested_calls_max = 256;                   ///< likewise, made inside served functions; 16 at least
  std::size_t bulk_bytes_max = std::size_t{64} << 20;   ///< of large calls, answers or words of one peer; 2 MiB at least
  std::size_t answer_bytes_max = std::size_t{256} << 20;  ///< answers that one peer has not taken: then no call of it begins

  // What stays: the call or word that would make one more is refused with resource_exhausted, `ran: never`.
  std::size_t owners_max = 1'000'000;    ///< values here that one peer made or was the first to speak of
  std::size_t forks_max = 1'000'000;     ///< handles of values here that one peer holds
  std::size_t contexts_max = 100'000;    ///< autograd contexts that calls of one peer brought here

  friend bool operator==(const PeerLimits&, const PeerLimits&) = default;
};

}  // namespace troupe

// Which member is asked for a newer signed list: the rules MB-10 and MB-11 of PROTOCOLS.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "messages/ids.h"

namespace troupe::detail {

/// Chooses the member to ask, one at a time: first a member that failed to answer less often, then the one that claims
/// the highest serial. A member whose claim proved false is not believed again in the same life. Keeps one claim per
/// peer. A plain class: one thread at a time.
class ListNews {
 public:
  /// `peer`, which is up, claims to know the list with this serial.
  void says(const NodeLife& peer, std::uint64_t serial);

  /// `peer` is down: forgets its claim. If `peer` was asked, `answered` or `unanswered` is still to be called.
  void gone(const NodeLife& peer);

  /// Returns the peer to ask now: if a peer claims a newer list than `own`, and no question is open.
  [[nodiscard]] std::optional<NodeLife> next(std::uint64_t own);

  /// The asked peer sent a list with this serial, signed by the owner of the cluster; nullopt: it sent something else.
  void answered(std::optional<std::uint64_t> serial);

  /// The peer that was asked did not answer in time, could not, or is down, or this node could not read its answer.
  void unanswered();

 private:
  struct Claim {
    std::uint64_t serial = 0;
    std::size_t failures = 0;
  };
  struct Asked {
    NodeLife peer;
    std::uint64_t said = 0;
  };
  std::map<NodeLife, Claim> said_;  // by peers that are up
  std::set<NodeLife> liars_;        // that are up
  std::optional<Asked> asked_;
};

}  // namespace troupe::detail

// Which member is asked for a newer signed list: the rules MB-10 and MB-11 of PROTOCOLS.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "messages/ids.h"

namespace troupe::detail {

/// One member is asked at a time: one that failed less often first, then the one that says the most. What members say
/// is a claim; one whose claim proved false is not believed again in this life. Keeps one claim per peer. A plain
/// class: one thread at a time.
class ListNews {
 public:
  /// `peer`, which is up, says that it knows the list with this serial.
  void says(const NodeLife& peer, std::uint64_t serial);

  /// `peer` is down: what it said is forgotten. If it was asked, an answer is still to come.
  void gone(const NodeLife& peer);

  /// Returns the peer to ask now, if one says more than the list `own`, and each that was asked has answered.
  [[nodiscard]] std::optional<NodeLife> next(std::uint64_t own);

  /// The peer that was asked sent a list of this serial, signed by the owner of the cluster; nullopt: something else.
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

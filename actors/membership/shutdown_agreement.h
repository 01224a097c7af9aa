// When all members may leave: when every living one is ready and no work is pending on any node.
//
// Any member may coordinate: the living one whose name sorts first does. Once all are ready, it asks all for their
// counts. A served function may make further calls, so one round is not enough: two rounds in a row must find nothing
// active and the same number of requests ever started on each member (MB-1). Both rounds have the same members: one
// that joins during a round starts another round, one that leaves restarts the two. When the coordinator goes, members
// tell the next one that they are ready.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "messages/ids.h"

namespace troupe::detail {

/// The coordinator's rules. A plain class: one thread at a time.
class ShutdownAgreement {
 public:
  struct Count {
    std::uint64_t active = 0;   ///< pending requests, and served functions and callbacks that are not done, see MB-1
    std::uint64_t started = 0;  ///< requests that this incarnation ever sent
  };

  enum class Verdict {
    wait,         ///< until members are ready or have sent their counts
    count,        ///< request the counts of all living members, in round `round()`
    count_later,  ///< as count, but with a pause: something was active
    agreed,       ///< all may leave
  };

  void ready(const NodeName& member) { ready_.insert(member); }
  void gone(const NodeName& member);

  /// A member's counts in `round`; those of an earlier round are ignored.
  void counted(const NodeName& member, std::uint64_t round, Count count);

  /// Returns what to do now. `count` and `count_later` start a new round.
  [[nodiscard]] Verdict next(const std::vector<NodeName>& living);

  /// Returns true only if `next` would return `wait` for so many living members: by numbers, as a coordinator asks at
  /// every word of every member. REQUIRES: `gone` was called for each that is no longer living.
  [[nodiscard]] bool awaits_some_of(std::size_t living) const;

  [[nodiscard]] std::uint64_t round() const { return round_; }

  /// Returns the living members that are not ready yet.
  [[nodiscard]] std::vector<NodeName> missing(const std::vector<NodeName>& living) const;

  /// Returns the whole state that decides, as text, for tests.
  [[nodiscard]] std::string text() const;

 private:
  std::set<NodeName> ready_;
  std::set<NodeName> asked_;          // in this round: those living when it started
  std::map<NodeName, Count> counts_;  // of this round
  std::uint64_t round_ = 0;
  std::optional<std::map<NodeName, std::uint64_t>> started_when_idle_;  // in the last round, if all were idle
  bool agreed_ = false;
};

}  // namespace troupe::detail

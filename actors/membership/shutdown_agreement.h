// When may all members leave? When every living one is ready and nothing is under way anywhere.
//
// Any member may coordinate: the living one whose name sorts first does. It asks all for their counts once all are
// ready. A served function may call on, so one look is not enough: two rounds in a row must find nothing active and the
// same number of requests ever started (MB-1). Both rounds are of the same members: who comes in the middle of one begins
// another, and who goes starts the two over. When the coordinator goes, members tell the next one that they are ready.
#pragma once

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
    std::uint64_t active = 0;   ///< own requests without an answer, served functions and callbacks not done
    std::uint64_t started = 0;  ///< requests this incarnation ever sent
  };

  enum class Verdict {
    wait,         ///< for members to become ready or to count
    count,        ///< ask all living members, in round `round()`
    count_later,  ///< likewise, but something was active: not at once
    agreed,       ///< all may leave
  };

  void ready(const NodeName& member) { ready_.insert(member); }
  void gone(const NodeName& member);

  /// A member's answer in `round`; one of an earlier round is ignored.
  void counted(const NodeName& member, std::uint64_t round, Count count);

  /// What to do now, given who lives. `count` and `count_later` begin a new round.
  [[nodiscard]] Verdict next(const std::vector<NodeName>& living);

  [[nodiscard]] std::uint64_t round() const { return round_; }

  /// Living members that are not ready yet.
  [[nodiscard]] std::vector<NodeName> missing(const std::vector<NodeName>& living) const;

  /// All that decides what is to be done, for tests.
  [[nodiscard]] std::string text() const;

 private:
  std::set<NodeName> ready_;
  std::set<NodeName> asked_;                        // in this round: those who lived when it began
  std::map<NodeName, Count> counts_;                // of this round
  std::uint64_t round_ = 0;
  std::optional<std::uint64_t> started_when_idle_;  // sum of the last round, if that found nothing active and nobody has gone since
  bool agreed_ = false;
};

}  // namespace troupe::detail

// Members to which this node has no connection yet, and when it tries again: rules MB-13 and MB-15 of PROTOCOLS.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "actors/clock.h"
#include "messages/ids.h"
#include "messages/membership.h"

namespace troupe::detail {

/// A member whose key this node lacks waits for the key. A member that could not be reached is tried again after a
/// second, then after twice as long each time, up to half a minute, at most kTries times. Of those that were given up
/// the last kGivenUpMax are remembered; one that is forgotten is tried anew if the node hears of it again. A plain
/// class: one thread at a time.
class LostMembers {
 public:
  static constexpr int kTries = 10;
  static constexpr std::size_t kGivenUpMax = 256;
  static constexpr std::chrono::seconds kFirstPause{1};
  static constexpr std::chrono::seconds kLongestPause{30};

  /// The node does not know the key of that member.
  void has_no_key(const msg::Member& member) { keyless_.insert_or_assign(member.name, member); }

  /// The node could not connect to that member. Returns whether that is the first time in that member's life.
  bool was_not_reached(const msg::Member& member, TimePoint now);

  /// That life of a member is up, or is given up. Another life that was not reached may still come.
  void forget(const NodeLife& member);

  /// The node learned of this life of `member`: forgets an unreached former life, which is over.
  void learned(const msg::Member& member);

  /// Takes the members whose keys the node knows by now.
  [[nodiscard]] std::vector<msg::Member> take_known(const std::function<bool(const NodeName&)>& knows);

  /// Returns the members that are to be tried by `now`, each once.
  [[nodiscard]] std::vector<msg::Member> due(TimePoint now);

  /// Returns when `due` next returns a member if no attempt fails before; nullopt: never.
  [[nodiscard]] std::optional<TimePoint> next_due() const;

  /// Returns whether the node could not connect to that member, or does not know its key.
  [[nodiscard]] bool has(const NodeName& member) const {
    return keyless_.contains(member) || unreached_.contains(member);
  }

  /// Returns whether that member was not reached and a further attempt is under way or planned.
  [[nodiscard]] bool tries(const NodeName& member) const;

 private:
  struct Unreached {
    msg::Member member;
    int failures = 0;
    std::optional<TimePoint> again;  ///< nullopt: an attempt is under way, or it is given up
  };
  void forget_given_up(const NodeLife& member);

  std::map<NodeName, msg::Member> keyless_;
  std::map<NodeName, Unreached> unreached_;
  std::deque<NodeLife> given_up_;  // the first is forgotten first; some may be forgotten already
};

}  // namespace troupe::detail

#include "actors/membership/lost_members.h"

#include <algorithm>
#include <utility>

namespace troupe::detail {

bool LostMembers::was_not_reached(const msg::Member& member, TimePoint now) {
  Unreached& unreached = unreached_[member.name];
  if (unreached.failures == 0 || unreached.member.incarnation != member.incarnation) unreached = {member, 0, {}};
  ++unreached.failures;
  const int doublings = std::min(unreached.failures - 1, 8);  // beyond the longest pause
  const Duration pause = std::min<Duration>(kFirstPause * (1 << doublings), kLongestPause);
  unreached.again = unreached.failures <= kTries ? std::optional(now + pause) : std::nullopt;
  const bool is_first = unreached.failures == 1;
  if (unreached.failures == kTries + 1) {
    const NodeLife life{member.name, member.incarnation};
    std::erase(given_up_, life);  // it was up since it was given up first
    given_up_.push_back(life);
    if (given_up_.size() > kGivenUpMax) {
      forget_given_up(given_up_.front());
      given_up_.pop_front();
    }
  }
  return is_first;
}

void LostMembers::forget_given_up(const NodeLife& member) {
  const auto unreached = unreached_.find(member.name);
  if (unreached == unreached_.end() || unreached->second.member.incarnation != member.incarnation) return;
  if (unreached->second.failures > kTries) unreached_.erase(unreached);
}

void LostMembers::forget(const NodeLife& member) {
  keyless_.erase(member.name);
  const auto unreached = unreached_.find(member.name);
  if (unreached != unreached_.end() && unreached->second.member.incarnation == member.incarnation)
    unreached_.erase(unreached);
}

void LostMembers::learned(const msg::Member& member) {
  const auto found = unreached_.find(member.name);
  if (found != unreached_.end() && found->second.member.incarnation != member.incarnation) unreached_.erase(found);
}

std::vector<msg::Member> LostMembers::take_known(const std::function<bool(const NodeName&)>& knows) {
  std::vector<msg::Member> known;
  for (auto next = keyless_.begin(); next != keyless_.end();) {
    const auto member = next++;
    if (knows(member->first)) known.push_back(std::move(keyless_.extract(member).mapped()));
  }
  return known;
}

std::vector<msg::Member> LostMembers::due(TimePoint now) {
  std::vector<msg::Member> members;
  for (auto& [name, unreached] : unreached_) {
    if (!unreached.again || *unreached.again > now) continue;
    unreached.again.reset();
    members.push_back(unreached.member);
  }
  return members;
}

std::optional<TimePoint> LostMembers::next_due() const {
  std::optional<TimePoint> next;
  for (const auto& [name, unreached] : unreached_) {
    if (unreached.again) next = next ? std::min(*next, *unreached.again) : *unreached.again;
  }
  return next;
}

bool LostMembers::tries(const NodeName& member) const {
  const auto found = unreached_.find(member);
  return found != unreached_.end() && found->second.failures <= kTries;
}

}  // namespace troupe::detail

#include "actors/collectives/partial_meetings.h"

#include <algorithm>
#include <set>
#include <utility>

namespace troupe::detail {

EntryNote PartialMeetings::note(const PartialPlace& place, const BarrierEntryId& entry, const NodeLife& leader) const {
  const std::lock_guard lock(mutex_);
  const auto last = last_.find(place);
  // A leader that lives matches the entries of its members by their order.
  if (last == last_.end() || last->second.leader == leader) return {entry, {}};
  return {entry, last->second.met};
}

PartialMeetings::Verdict PartialMeetings::judge(const BarrierEntryId& own, const std::vector<EntryNote>& notes) {
  std::set<BarrierEntryId> met;
  for (const EntryNote& note : notes) met.insert(note.met.begin(), note.met.end());
  if (met.contains(own)) return Verdict::late;
  const auto is_late = [&met](const EntryNote& note) { return met.contains(note.entry); };
  return std::ranges::any_of(notes, is_late) ? Verdict::again : Verdict::met;
}

void PartialMeetings::passed(const PartialPlace& place, const NodeLife& leader, const std::vector<EntryNote>& notes) {
  Meeting meeting{leader, {}};
  for (const EntryNote& note : notes) meeting.met.push_back(note.entry);
  const std::lock_guard lock(mutex_);
  if (!last_.contains(place)) added_.push_back(place);
  last_[place] = std::move(meeting);
  if (added_.size() <= kPlacesMax) return;
  last_.erase(added_.front());
  added_.pop_front();
}

PartialMeetings::Entering::Entering(PartialMeetings& meetings, PartialPlace place)
    : meetings_(meetings), place_(std::move(place)) {
  const std::lock_guard lock(meetings_.mutex_);
  ++meetings_.entering_[place_];
}

PartialMeetings::Entering::~Entering() {
  const std::lock_guard lock(meetings_.mutex_);
  const auto entering = meetings_.entering_.find(place_);
  if (--entering->second == 0) meetings_.entering_.erase(entering);
}

std::vector<PartialMeetings::MeetingReport> PartialMeetings::take_reports(const NodeName& self, const Lives& lives) {
  std::vector<MeetingReport> reports;
  const std::lock_guard lock(mutex_);
  for (auto& [place, last] : last_) {
    if (last.leader.name == self || !lives.is_over(last.leader) || entering_.contains(place)) continue;
    const auto own = std::ranges::find(last.met, self, &BarrierEntryId::creator);
    NodeLife next{self, {}};
    for (const NodeName& name : place.members) {
      if (name == self) break;
      if (const auto up = lives.up(name)) {
        next = {name, up->incarnation};
        break;
      }
    }
    if (own == last.met.end() || last.told == next) continue;
    last.told = next;
    reports.push_back({next.name, place, {*own, last.met}});
  }
  return reports;
}

}  // namespace troupe::detail

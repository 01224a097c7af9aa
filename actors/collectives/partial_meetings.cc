#include "actors/collectives/partial_meetings.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "messages/values.h"

namespace troupe::detail {

EntryNote PartialMeetings::note(const PartialPlace& place, const BarrierEntryId& entry, const NodeLife& leader) const {
  const std::lock_guard lock(mutex_);
  const auto last = last_.find(place);
  // A leader that lives matches the entries of its members by their order.
  if (last == last_.end() || last->second.leader == leader) return {entry, {}};
  return {entry, last->second.met};
}

PartialMeetings::Verdict PartialMeetings::judge(const BarrierEntryId& own, const std::vector<EntryNote>& notes) {
  const auto is_late = [&notes](const BarrierEntryId& entry) {
    return std::ranges::any_of(notes, [&](const EntryNote& note) { return std::ranges::count(note.met, entry) != 0; });
  };
  if (is_late(own)) return Verdict::late;
  return std::ranges::any_of(notes, is_late, &EntryNote::entry) ? Verdict::again : Verdict::met;
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

void add_note(msg::Contribution& own, const EntryNote& note) {
  own.value.tensors.push_back(to_payload(nullptr, note).bytes);  // the last frame: the value's own are counted
}

EntryNote take_note(msg::Contribution& brought) {
  Frames& frames = brought.value.tensors;
  msg::Payload payload;
  if (!frames.empty()) {
    const Frame note = std::move(frames.back());
    frames.pop_back();
    if (note.device != Device::cpu())
      throw DecodeError(fmt::format("[decode] a note in memory of {}", to_string(note.device)));
    payload.bytes = make_frame({note.bytes.begin(), note.bytes.end()});  // another process could change them meanwhile
  }
  return std::get<0>(from_payload<EntryNote>(payload));
}

}  // namespace troupe::detail

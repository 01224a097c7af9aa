#include "actors/collectives/partial_meetings.h"

#include <algorithm>
#include <tuple>

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

void add_note(msg::Contribution& own, const EntryNote& note) {
  own.value.tensors.push_back(to_payload(nullptr, note).bytes);  // the last frame: the value's own are counted
}

EntryNote take_note(msg::Contribution& brought) {
  Frames& frames = brought.value.tensors;
  msg::Payload payload;
  if (!frames.empty()) {
    payload.bytes = std::move(frames.back());
    frames.pop_back();
  }
  return std::get<0>(from_payload<EntryNote>(payload));
}

}  // namespace troupe::detail

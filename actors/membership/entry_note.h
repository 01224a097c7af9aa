// What a member says of its entry at a partial barrier of which all are receivers (MB-18). Travels as the last frame of
// the contribution's value, which it is no part of.
#pragma once

#include <utility>
#include <vector>

#include "messages/ids.h"
#include "messages/membership.h"

namespace troupe::detail {

struct EntryNote {
  BarrierEntryId entry;
  std::vector<BarrierEntryId> met;  ///< the entries of the last meeting that it passed there; empty if at this leader
  template <class Archive>
  void serialize(Archive& ar) {
    ar(entry, met);
  }
};

/// Adds `note` to a contribution.
void add_note(msg::Contribution& own, const EntryNote& note);

/// Takes it out again. Throws DecodeError if there is none, or if it is in memory of a GPU.
[[nodiscard]] EntryNote take_note(msg::Contribution& brought);

/// What the members say that they have met is said once, in the first note: all of them judge by what all say. So a
/// meeting tells each of n members n entries, or a few times as many if not all met last together, and not n^2.
/// `members`: of the place, also those that brought nothing. Changes nothing if a note cannot be read, or is larger
/// than one entry of each member makes it: the members judge what each said.
void merge_notes(std::vector<std::pair<NodeName, msg::Contribution>>& values, const std::vector<NodeName>& members);

}  // namespace troupe::detail

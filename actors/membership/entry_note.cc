#include "actors/membership/entry_note.h"

#include <fmt/format.h>

#include <cstddef>
#include <set>
#include <tuple>

#include "messages/values.h"

namespace troupe::detail {
namespace {

EntryNote read_note(const msg::Contribution& brought) {
  const Frames& frames = brought.value.tensors;
  msg::Payload payload;
  if (!frames.empty()) {
    const Frame& note = frames.back();
    if (note.device != Device::cpu())
      throw DecodeError(fmt::format("[decode] a note in memory of {}", to_string(note.device)));
    payload.bytes = make_frame({note.bytes.begin(), note.bytes.end()});  // another process could change them meanwhile
  }
  return std::get<0>(from_payload<EntryNote>(payload));
}

}  // namespace

void add_note(msg::Contribution& own, const EntryNote& note) {
  own.value.tensors.push_back(to_payload(nullptr, note).bytes);  // the last frame: the value's own are counted
}

EntryNote take_note(msg::Contribution& brought) {
  EntryNote note = read_note(brought);
  brought.value.tensors.pop_back();
  return note;
}

void merge_notes(std::vector<std::pair<NodeName, msg::Contribution>>& values) try {
  std::vector<BarrierEntryId> entries;
  std::set<BarrierEntryId> met;
  std::size_t tellers = 0;
  for (const auto& [name, brought] : values) {
    const EntryNote note = read_note(brought);
    entries.push_back(note.entry);
    met.insert(note.met.begin(), note.met.end());
    if (!note.met.empty()) ++tellers;
  }
  if (tellers <= 1) return;
  auto entry = entries.begin();
  for (auto& [name, brought] : values) {
    brought.value.tensors.pop_back();
    add_note(brought, {*entry++, {met.begin(), met.end()}});
    met.clear();
  }
} catch (const DecodeError&) {
  return;
}

}  // namespace troupe::detail

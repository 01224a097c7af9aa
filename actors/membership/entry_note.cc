#include "actors/membership/entry_note.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

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

/// Returns the size of the largest note that a member makes: its own entry, a length, and one entry of each member. An
/// entry is a name with its length, and two numbers.
std::size_t largest_note(const std::vector<NodeName>& members) {
  std::size_t longest = 0;
  for (const NodeName& name : members) longest = std::max(longest, name.size());
  return (members.size() + 1) * (longest + 3 * sizeof(std::uint64_t)) + sizeof(std::uint64_t);
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

void merge_notes(std::vector<std::pair<NodeName, msg::Contribution>>& values,
                 const std::vector<NodeName>& members) try {
  if (values.size() < 2) return;
  const auto is_too_large = [largest = largest_note(members)](const auto& value) {
    const Frames& frames = value.second.value.tensors;
    return !frames.empty() && frames.back().bytes.size() > largest;
  };
  if (std::ranges::any_of(values, is_too_large)) return;  // before one is read
  std::vector<BarrierEntryId> entries;
  std::vector<BarrierEntryId> met;
  std::size_t tellers = 0;
  for (const auto& [name, brought] : values) {
    EntryNote note = read_note(brought);
    entries.push_back(std::move(note.entry));
    met.insert(met.end(), note.met.begin(), note.met.end());
    if (!note.met.empty()) ++tellers;
  }
  if (tellers <= 1) return;
  std::ranges::sort(met);
  met.erase(std::ranges::unique(met).begin(), met.end());
  auto entry = entries.begin();
  for (auto& [name, brought] : values) {
    brought.value.tensors.pop_back();
    add_note(brought, {std::move(*entry++), std::exchange(met, {})});
  }
} catch (const DecodeError&) {
  return;
}

}  // namespace troupe::detail

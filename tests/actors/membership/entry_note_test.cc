#include "actors/membership/entry_note.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "actors/collectives/partial_meetings.h"
#include "messages/values.h"
#include "tests/support/counting_new.h"

namespace troupe::detail {
namespace {

BOOST_AUTO_TEST_SUITE(entry_note)

using Values = std::vector<std::pair<NodeName, msg::Contribution>>;

BarrierEntryId entry(const NodeName& member, std::uint64_t number) { return {member, 7, number}; }

/// What the members bring: of each its name, and its note.
Values brought(const std::vector<EntryNote>& notes) {
  Values values;
  for (const EntryNote& note : notes) {
    msg::Contribution own;
    own.value = to_payload(nullptr, note.entry.creator);
    add_note(own, note);
    values.emplace_back(note.entry.creator, std::move(own));
  }
  return values;
}

std::vector<EntryNote> notes_in(Values values) {
  std::vector<EntryNote> notes;
  for (auto& [name, value] : values) {
    notes.push_back(take_note(value));
    BOOST_TEST_REQUIRE(std::get<0>(from_payload<std::string>(value.value)) == name);
  }
  return notes;
}

BOOST_AUTO_TEST_CASE(note_travels_with_a_contribution_and_leaves_it_as_it_was) {
  msg::Contribution own;
  own.value = to_payload(nullptr, std::string("seven"));
  add_note(own, {entry("b", 2), {entry("c", 1)}});
  const EntryNote note = take_note(own);
  BOOST_TEST((note.entry == entry("b", 2)));
  BOOST_TEST((note.met == std::vector<BarrierEntryId>{entry("c", 1)}));
  BOOST_TEST(std::get<0>(from_payload<std::string>(own.value)) == "seven");
  BOOST_CHECK_THROW(static_cast<void>(take_note(own)), DecodeError);
}

BOOST_AUTO_TEST_CASE(note_in_memory_of_a_gpu_is_refused_unread) {
  msg::Contribution own;
  add_note(own, {entry("b", 2), {}});
  own.value.tensors.back().device = Device::cuda(0);
  BOOST_CHECK_EXCEPTION(static_cast<void>(take_note(own)), DecodeError, [](const DecodeError& error) {
    return std::string(error.what()) == "[decode] a note in memory of cuda:0";
  });
}

// Each of three has met any of the entries of both rounds.
BOOST_AUTO_TEST_CASE(members_judge_what_a_leader_has_merged_as_what_each_said) {
  const std::vector<NodeName> members{"a", "b", "c"};
  for (unsigned said = 0; said < 1U << 12U; ++said) {
    std::vector<EntryNote> notes;
    for (unsigned i = 0; i < 3; ++i) {
      EntryNote note{entry(members[i], 2), {}};
      for (unsigned bit = 0; bit < 4; ++bit) {  // a.1, b.2, c.2, a.2
        if ((said >> (4 * i + bit) & 1U) != 0) note.met.push_back(entry(members[bit % 3], bit == 0 ? 1 : 2));
      }
      notes.push_back(std::move(note));
    }
    Values values = brought(notes);
    merge_notes(values, members);
    const std::vector<EntryNote> merged = notes_in(values);
    for (std::size_t i = 0; i < members.size(); ++i) {
      BOOST_TEST_REQUIRE((merged[i].entry == notes[i].entry));
      BOOST_TEST_REQUIRE(
          (PartialMeetings::judge(notes[i].entry, merged) == PartialMeetings::judge(notes[i].entry, notes)), said);
    }
  }
}

BOOST_AUTO_TEST_CASE(what_several_have_met_is_said_once) {
  const std::vector<BarrierEntryId> met{entry("a", 1), entry("b", 1), entry("c", 1)};
  Values values = brought({{entry("b", 2), met}, {entry("c", 2), met}, {entry("d", 2), {entry("d", 1)}}});
  merge_notes(values, {"a", "b", "c", "d"});
  const std::vector<EntryNote> notes = notes_in(std::move(values));
  BOOST_TEST((notes[0].met == std::vector<BarrierEntryId>{entry("a", 1), entry("b", 1), entry("c", 1), entry("d", 1)}));
  BOOST_TEST(notes[1].met.empty());
  BOOST_TEST(notes[2].met.empty());
}

BOOST_AUTO_TEST_CASE(notes_stay_as_they_are_where_one_cannot_be_read) {
  const std::vector<BarrierEntryId> met{entry("a", 1), entry("b", 1)};
  for (const bool is_of_gpu : {true, false}) {
    Values values = brought({{entry("a", 2), met}, {entry("b", 2), met}, {entry("c", 2), {}}});
    Frames& frames = values[2].second.value.tensors;
    is_of_gpu ? void(frames.back().device = Device::cuda(0)) : frames.clear();
    merge_notes(values, {"a", "b", "c"});
    BOOST_CHECK_THROW(static_cast<void>(take_note(values[2].second)), DecodeError);
    values.pop_back();
    for (const EntryNote& note : notes_in(std::move(values))) BOOST_TEST((note.met == met));
  }
}

BOOST_AUTO_TEST_CASE(note_that_is_larger_than_its_place_makes_it_is_not_read) {
  const std::string longest(127, 'b');
  const std::vector<NodeName> members{"a", longest};
  const std::vector<BarrierEntryId> met{entry(longest, 1), entry(longest, 2)};
  Values fit = brought({{entry("a", 3), {entry("a", 1)}}, {entry(longest, 3), met}});
  merge_notes(fit, members);
  BOOST_TEST(notes_in(std::move(fit))[0].met.size() == 3U);  // an entry of each, the longest name in all: it is read

  std::vector<BarrierEntryId> many(100'000);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = {"", i * 0x9E3779B97F4A7C15U, i};
  for (const std::vector<BarrierEntryId>& said : {std::vector{met[0], met[1], entry("", 1)}, many}) {
    Values values = brought({{entry("a", 3), {entry("a", 1)}}, {entry(longest, 3), said}});
    const Values before = values;
    const std::size_t bytes = values[1].second.value.tensors.back().bytes.size();
    const testing::PeakMemory memory;
    merge_notes(values, members);
    const std::size_t taken = memory.bytes();
    BOOST_TEST(taken < bytes);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Frame& note = values[i].second.value.tensors.back();
      BOOST_TEST((note.bytes.data() == before[i].second.value.tensors.back().bytes.data()));  // the same, not a copy
      BOOST_TEST(note.bytes.size() == before[i].second.value.tensors.back().bytes.size());
    }
  }
}

BOOST_AUTO_TEST_CASE(note_of_who_meets_nobody_is_not_read) {
  Values values = brought({{entry("a", 2), {entry("a", 1), entry("b", 1)}}});
  const testing::PeakMemory memory;
  merge_notes(values, {});
  const std::size_t bytes = memory.bytes();
  BOOST_TEST(bytes == 0U);
  BOOST_TEST(notes_in(std::move(values))[0].met.size() == 2U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail

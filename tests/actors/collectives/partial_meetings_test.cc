#include "actors/collectives/partial_meetings.h"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::detail {
namespace {

BOOST_AUTO_TEST_SUITE(partial_meetings)

using Verdict = PartialMeetings::Verdict;

const PartialPlace kPlace{"all_gather", {"a", "b", "c"}};
const NodeLife kA{"a", {1, 1}};
const NodeLife kB{"b", {2, 2}};

BarrierEntryId entry(const NodeName& member, std::uint64_t number) { return {member, 7, number}; }

std::vector<EntryNote> notes_of(const std::vector<BarrierEntryId>& entries) {
  std::vector<EntryNote> notes;
  for (const BarrierEntryId& one : entries) notes.push_back({one, {}});
  return notes;
}

// All entered their first round at a. b has its answer, c has none: it comes again to b, where b is in the next round.
BOOST_AUTO_TEST_CASE(entry_with_which_another_has_passed_is_late_at_the_next_leader) {
  PartialMeetings of_b;
  const PartialMeetings of_c;
  of_b.passed(kPlace, kA, notes_of({entry("a", 1), entry("b", 1), entry("c", 1)}));
  const std::vector<EntryNote> notes{of_b.note(kPlace, entry("b", 2), kB), of_c.note(kPlace, entry("c", 1), kB)};
  BOOST_TEST((PartialMeetings::judge(entry("b", 2), notes) == Verdict::again));
  BOOST_TEST((PartialMeetings::judge(entry("c", 1), notes) == Verdict::late));
  const std::vector<EntryNote> next{notes[0], of_c.note(kPlace, entry("c", 2), kB)};
  BOOST_TEST((PartialMeetings::judge(entry("b", 2), next) == Verdict::met));
  BOOST_TEST((PartialMeetings::judge(entry("c", 2), next) == Verdict::met));
}

BOOST_AUTO_TEST_CASE(entries_that_no_member_has_passed_meet_at_the_next_leader) {
  PartialMeetings of_b;
  PartialMeetings of_c;
  for (PartialMeetings* member : {&of_b, &of_c})
    member->passed(kPlace, kA, notes_of({entry("a", 1), entry("b", 1), entry("c", 1)}));
  const std::vector<EntryNote> notes{of_b.note(kPlace, entry("b", 2), kB), of_c.note(kPlace, entry("c", 2), kB)};
  for (const EntryNote& note : notes) BOOST_TEST((PartialMeetings::judge(note.entry, notes) == Verdict::met));
}

BOOST_AUTO_TEST_CASE(last_meeting_is_told_at_its_place_unless_its_leader_leads_on) {
  PartialMeetings of_b;
  of_b.passed(kPlace, kA, notes_of({entry("b", 1), entry("c", 1)}));
  BOOST_TEST(of_b.note(kPlace, entry("b", 2), kA).met.empty());
  BOOST_TEST(of_b.note(kPlace, entry("b", 2), {"a", {1, 2}}).met.size() == 2U);  // another life of a
  BOOST_TEST(of_b.note({"barrier", kPlace.members}, entry("b", 2), kB).met.empty());
  of_b.passed(kPlace, kB, notes_of({entry("b", 2)}));
  BOOST_TEST((of_b.note(kPlace, entry("b", 3), kA).met == std::vector<BarrierEntryId>{entry("b", 2)}));
}

BOOST_AUTO_TEST_CASE(each_leader_after_one_that_is_gone_is_told_once_what_has_met_unless_the_member_enters_there) {
  Lives lives;
  for (const NodeLife& life : {kA, kB}) lives.begin({life.name, life.incarnation, "memory://" + life.name});
  PartialMeetings of_c;
  of_c.passed(kPlace, kA, notes_of({entry("a", 1), entry("b", 1), entry("c", 1)}));
  BOOST_TEST(of_c.take_reports("c", lives).empty());
  lives.end(kA, {});
  {
    const PartialMeetings::Entering entering(of_c, kPlace);
    BOOST_TEST(of_c.take_reports("c", lives).empty());
  }
  const std::vector<PartialMeetings::MeetingReport> at_b = of_c.take_reports("c", lives);
  BOOST_TEST_REQUIRE(at_b.size() == 1U);
  BOOST_TEST(at_b[0].leader == "b");
  BOOST_TEST((at_b[0].place == kPlace));
  BOOST_TEST((at_b[0].note.entry == entry("c", 1)));
  const std::vector<EntryNote> notes{{entry("b", 1), {}}, at_b[0].note};
  BOOST_TEST((PartialMeetings::judge(entry("b", 1), notes) == Verdict::late));
  BOOST_TEST(of_c.take_reports("c", lives).empty());
  lives.end(kB, {});
  BOOST_TEST_REQUIRE(of_c.take_reports("c", lives).size() == 1U);  // at itself
  BOOST_TEST(of_c.take_reports("c", lives).empty());
}

BOOST_AUTO_TEST_CASE(places_that_are_kept_are_so_many_and_no_more) {
  PartialMeetings meetings;
  for (std::size_t i = 0; i <= PartialMeetings::kPlacesMax; ++i)
    meetings.passed({std::to_string(i), {}}, kA, notes_of({entry("b", 1)}));
  BOOST_TEST(meetings.note({"0", {}}, entry("b", 2), kB).met.empty());
  BOOST_TEST(meetings.note({"1", {}}, entry("b", 2), kB).met.size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail

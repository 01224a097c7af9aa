#include "actors/membership/barriers.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "actors/group.h"
#include "actors/membership/entry_note.h"
#include "messages/values.h"
#include "tests/support/counting_new.h"

namespace troupe::detail {
namespace {

BOOST_AUTO_TEST_SUITE(barriers)

using namespace std::chrono_literals;
using boost::unit_test::label;

const std::vector<NodeName> kThree{"a", "b", "c"};

Error down(const NodeName& name) {
  Error error;
  error.code = ErrorCode::peer_down;
  error.peer = name;
  error.message = "connection closed";
  return error;
}

/// The barriers at node "a", where b and c are up, and the answers to members: "1: a=5 b=7", "1: timeout ...".
struct Place {
  Place() {
    barriers.came("b");
    barriers.came("c");
  }

  void enter(const NodeName& member, std::int32_t value, msg::BarrierEntered entered) {
    entered.entry = entry(member, ++entries[member]);
    entered.own.value = to_payload(nullptr, value);
    barriers.enter(TimePoint(now), member, std::move(entered), [this, member](Result<msg::BarrierPassed> result) {
      told.push_back(member + " <- " +
                     (result ? text(result.value())
                             : std::string(name_of(result.error().code)) + " " + result.error().peer + ": " +
                                   result.error().message));
    });
  }
  void enter(const NodeName& member, std::int32_t value, std::vector<NodeName> members = kThree) {
    enter(member, value, msg::BarrierEntered{{}, "barrier", std::move(members), {}, false, {}, {}});
  }
  void enter_within(std::chrono::microseconds limit, const NodeName& member) {
    enter(member, 0, msg::BarrierEntered{{}, "all_gather", kThree, {}, false, limit, {}});
  }
  void enter_partial(const NodeName& member, std::int32_t value) {
    enter(member, value, msg::BarrierEntered{{}, "barrier", kThree, {}, true, {}, {}});
  }

  static std::string text(const msg::BarrierPassed& passed) {
    std::string text;
    for (const auto& [name, brought] : passed.values) {
      text += name + "=" + std::to_string(std::get<0>(from_payload<std::int32_t>(brought.value))) + " ";
    }
    for (const auto& [name, error] : passed.missing) text += name + ": " + std::string(name_of(error.code)) + " ";
    return text;
  }

  /// Returns the id of the `number`th entry of `member`.
  static BarrierEntryId entry(const NodeName& member, std::uint64_t number) { return {member, 7, number}; }

  Barriers barriers{"a"};
  std::map<NodeName, std::uint64_t> entries;
  Duration now{0};
  std::vector<std::string> told;
};

#define CHECK_TOLD(place, ...) BOOST_TEST(((place).told == std::vector<std::string>{__VA_ARGS__}))

BOOST_AUTO_TEST_CASE(nobody_passes_before_all_are_there, *label("S-03")) {
  Place place;
  place.enter("c", 3);
  place.enter("a", 1);
  BOOST_TEST(place.told.empty());
  place.enter("b", 2);
  CHECK_TOLD(place, "a <- a=1 b=2 c=3 ", "b <- a=1 b=2 c=3 ", "c <- a=1 b=2 c=3 ");
  BOOST_TEST(place.barriers.size() == 0U);
}

BOOST_AUTO_TEST_CASE(groups_do_not_disturb_each_other, *label("S-03")) {
  Place place;
  place.enter("a", 1, {"a", "b"});
  place.enter("b", 2);
  place.enter("b", 3, {"b", "c"});
  BOOST_TEST(place.told.empty());
  place.enter("b", 4, {"a", "b"});
  CHECK_TOLD(place, "a <- a=1 b=4 ", "b <- a=1 b=4 ");
  BOOST_TEST(place.barriers.size() == 2U);
}

BOOST_AUTO_TEST_CASE(second_entry_of_a_member_is_for_the_second_meeting, *label("S-03")) {
  Place place;
  place.enter("a", 1, {"a", "b"});
  place.enter("a", 2, {"a", "b"});
  BOOST_TEST(place.told.empty());
  place.enter("b", 3, {"a", "b"});
  CHECK_TOLD(place, "a <- a=1 b=3 ", "b <- a=1 b=3 ");
  place.told.clear();
  place.enter("b", 4, {"a", "b"});
  CHECK_TOLD(place, "a <- a=2 b=4 ", "b <- a=2 b=4 ");
}

BOOST_AUTO_TEST_CASE(report_says_who_waits_how_long_and_for_whom) {
  Place place;
  BOOST_TEST(place.barriers.open(TimePoint(0s)).empty());
  place.enter("c", 3);
  place.now = 1s;
  place.enter("a", 1);
  place.enter("b", 2, {"a", "b"});
  place.now = 3s;
  const std::vector<OpenBarrier> expected{{"barrier", {{"b", 2s}}, {"a"}}, {"barrier", {{"c", 3s}, {"a", 2s}}, {"b"}}};
  BOOST_TEST((place.barriers.open(TimePoint(place.now)) == expected));
}

BOOST_AUTO_TEST_CASE(word_of_what_has_met_elsewhere_is_no_open_barrier_and_meets_the_others) {
  Place place;
  msg::BarrierEntered word{Place::entry("c", 1), "barrier", kThree, {}, true, {}, {}};
  word.own.value = to_payload(nullptr, 3);
  place.barriers.enter({}, "c", std::move(word), nullptr);
  BOOST_TEST(place.barriers.open({}).empty());
  place.enter_partial("b", 2);
  const std::vector<OpenBarrier> expected{{"barrier", {{"b", 0s}}, {"a"}}};
  BOOST_TEST((place.barriers.open({}) == expected));
  place.enter_partial("a", 1);
  CHECK_TOLD(place, "a <- a=1 b=2 c=3 ", "b <- a=1 b=2 c=3 ");
  BOOST_TEST(place.barriers.size() == 0U);
}

BOOST_AUTO_TEST_CASE(only_the_receiver_of_a_gather_gets_the_values) {
  Place place;
  for (const char* member : {"a", "b", "c"})
    place.enter(member, 1, msg::BarrierEntered{{}, "gather", kThree, "b", false, {}, {}});
  CHECK_TOLD(place, "a <- ", "b <- a=1 b=1 c=1 ", "c <- ");
}

BOOST_AUTO_TEST_CASE(who_waits_too_long_is_told_how_long_and_for_whom, *label("S-02")) {
  Place place;
  place.enter_within(100ms, "a");
  place.now = 40ms;
  place.enter_within(100ms, "c");
  BOOST_TEST((place.barriers.next_due() == TimePoint(100ms)));
  place.barriers.expire(TimePoint(99ms));
  BOOST_TEST(place.told.empty());
  place.barriers.expire(TimePoint(100ms));
  CHECK_TOLD(place, "a <- timeout : timed out in all_gather after 0.10 seconds: b did not come");
  place.told.clear();
  BOOST_TEST((place.barriers.next_due() == TimePoint(140ms)));
  place.barriers.expire(TimePoint(140ms));
  CHECK_TOLD(place, "c <- timeout : timed out in all_gather after 0.10 seconds: a, b did not come");
  BOOST_TEST(!place.barriers.next_due());
}

BOOST_AUTO_TEST_CASE(entry_that_ran_out_of_time_meets_nobody) {
  Place place;
  place.enter("a", 1, msg::BarrierEntered{{}, "barrier", {"a", "b"}, {}, false, 10us, {}});
  place.barriers.expire(TimePoint(10us));
  place.told.clear();
  place.enter("b", 2, {"a", "b"});
  BOOST_TEST(place.told.empty());
  place.enter("a", 3, {"a", "b"});
  CHECK_TOLD(place, "a <- a=3 b=2 ", "b <- a=3 b=2 ");
}

BOOST_AUTO_TEST_CASE(death_of_a_member_ends_the_wait_and_names_it) {
  Place place;
  place.enter("a", 1);
  place.enter("c", 3);
  place.barriers.gone("c", down("c"));
  CHECK_TOLD(place, "a <- peer_down c: connection closed");  // c gets no answer
  place.told.clear();
  place.enter("b", 2);
  CHECK_TOLD(place, "b <- peer_down c: connection closed");
  place.told.clear();
  place.barriers.came("c");
  for (const NodeName& member : kThree) place.enter(member, 4);
  BOOST_TEST(place.told.size() == 3U);
}

BOOST_AUTO_TEST_CASE(partial_meeting_goes_on_without_the_dead_and_names_them) {
  Place place;
  place.enter_partial("c", 3);
  place.enter_partial("a", 1);
  place.barriers.gone("c", down("c"));
  BOOST_TEST(place.told.empty());
  place.enter_partial("b", 2);
  CHECK_TOLD(place, "a <- a=1 b=2 c: peer_down ", "b <- a=1 b=2 c: peer_down ");
  place.told.clear();
  place.enter_partial("a", 5);
  place.barriers.gone("b", down("b"));
  CHECK_TOLD(place, "a <- a=5 b: peer_down c: peer_down ");
}

BOOST_AUTO_TEST_CASE(limits_that_no_clock_reaches_are_kept_within_bounds) {
  Place place;
  place.enter_within(std::chrono::microseconds::max(), "a");
  place.barriers.expire(TimePoint(24h));
  BOOST_TEST(place.told.empty());
  place.enter_within(std::chrono::microseconds::min(), "b");
  place.barriers.expire(TimePoint(24h));
  BOOST_TEST_REQUIRE(place.told.size() == 1U);
  BOOST_TEST(place.told[0].starts_with("b <- timeout"), place.told[0]);
}

BOOST_AUTO_TEST_CASE(member_that_never_was_there_is_named) {
  Place place;
  place.enter("a", 1, {"a", "x"});
  CHECK_TOLD(place, "a <- not_joined x: no node of that name is in this cluster");
}

BOOST_AUTO_TEST_CASE(who_is_no_member_is_refused) {
  Place place;
  place.enter("c", 1, {"a", "b"});
  CHECK_TOLD(place, "c <- bad_argument : c is no member of the group that it waits for");
}

BOOST_AUTO_TEST_CASE(entry_that_is_given_up_meets_nobody) {
  Place place;
  place.enter("b", 1, {"a", "b"});
  place.barriers.left("b", Place::entry("b", 1));
  CHECK_TOLD(place, "b <- cancelled : the member gave its entry up");
  BOOST_TEST(place.barriers.size() == 0U);
  place.told.clear();
  place.enter("a", 2, {"a", "b"});
  BOOST_TEST(place.told.empty());
  place.enter("b", 3, {"a", "b"});
  CHECK_TOLD(place, "a <- a=2 b=3 ", "b <- a=2 b=3 ");
}

BOOST_AUTO_TEST_CASE(entry_that_comes_after_it_was_given_up_meets_nobody) {
  Place place;
  place.barriers.left("b", Place::entry("b", 1));
  place.enter("b", 1, {"a", "b"});
  CHECK_TOLD(place, "b <- cancelled : the member gave its entry up");
  place.told.clear();
  place.enter("b", 2, {"a", "b"});
  place.enter("a", 3, {"a", "b"});
  CHECK_TOLD(place, "a <- a=3 b=2 ", "b <- a=3 b=2 ");
}

BOOST_AUTO_TEST_CASE(only_the_entry_that_is_named_leaves) {
  Place place;
  for (int value = 1; value <= 3; ++value) place.enter("b", value, {"a", "b"});
  place.barriers.left("b", Place::entry("b", 2));
  place.barriers.left("c", Place::entry("b", 1));  // the entry of another member
  place.told.clear();
  place.enter("a", 4, {"a", "b"});
  place.enter("a", 5, {"a", "b"});
  CHECK_TOLD(place, "a <- a=4 b=1 ", "b <- a=4 b=1 ", "a <- a=5 b=3 ", "b <- a=5 b=3 ");
}

BOOST_AUTO_TEST_CASE(entries_given_up_are_remembered_up_to_a_number_and_as_long_as_their_member_lives) {
  Place place;
  for (std::uint64_t number = 1; number <= Barriers::kLeftMax + 1; ++number)
    place.barriers.left("b", Place::entry("b", number));
  place.enter("b", 1, {"a", "b"});  // forgotten
  place.enter("b", 2, {"a", "b"});
  CHECK_TOLD(place, "b <- cancelled : the member gave its entry up");
  place.barriers.gone("b", down("b"));
  place.barriers.came("b");
  place.told.clear();
  place.enter("b", 3, {"a", "b"});
  BOOST_TEST(place.told.empty());
}

BOOST_AUTO_TEST_CASE(entries_of_a_member_wait_up_to_a_number_and_those_of_others_do_not_count) {
  Place place;
  for (std::size_t i = 0; i < Barriers::kEntriesMax; ++i) {
    place.enter("b", 1, {{}, "place " + std::to_string(i), {"a", "b"}, {}, false, {}, {}});
  }
  BOOST_TEST(place.told.empty());
  place.enter("b", 1, {"a", "b"});
  BOOST_TEST_REQUIRE(place.told.size() == 1U);
  BOOST_TEST(place.told.front().starts_with("b <- resource_exhausted : 4096 entries of b with "));
  BOOST_TEST(place.barriers.size() == Barriers::kEntriesMax);
  place.told.clear();
  place.enter("c", 1, {"a", "c"});
  BOOST_TEST(place.told.empty());
  place.barriers.left("b", Place::entry("b", 1));
  place.told.clear();
  place.enter("b", 1, {"a", "b"});  // there is room again
  BOOST_TEST(place.told.empty());
  place.barriers.gone("b", down("b"));
  place.barriers.came("b");
  place.enter("b", 1, {"a", "b"});  // of a new life
  BOOST_TEST(place.told.empty());
  BOOST_TEST(place.barriers.size() == 2U);
}

BOOST_AUTO_TEST_CASE(entries_of_a_member_bring_up_to_a_number_of_bytes_unless_it_is_an_only_one) {
  Barriers barriers("a");
  barriers.came("b");
  constexpr std::size_t kEighth = Barriers::kBytesMax / 8;
  const std::shared_ptr<std::byte[]> memory(new std::byte[kEighth]);  // of all frames; nobody touches it
  const Frames large(9, Frame{{memory.get(), kEighth}, memory});
  std::vector<ErrorCode> refused;
  const auto enter = [&](std::uint64_t number, std::size_t frames) {
    msg::BarrierEntered entered{
        Place::entry("b", number), "place " + std::to_string(number), {"a", "b"}, {}, false, {}, {}};
    entered.own.value.tensors.assign(large.begin(), large.begin() + static_cast<std::ptrdiff_t>(frames));
    barriers.enter(TimePoint(), "b", std::move(entered), [&](const Result<msg::BarrierPassed>& result) {
      if (!result) refused.push_back(result.error().code);
    });
  };
  enter(1, 9);
  enter(2, 1);
  BOOST_TEST((refused == std::vector{ErrorCode::resource_exhausted}));
  barriers.left("b", Place::entry("b", 1));
  refused.clear();
  enter(3, 4);
  enter(4, 3);
  BOOST_TEST(refused.empty());
  enter(5, 1);
  BOOST_TEST((refused == std::vector{ErrorCode::resource_exhausted}));
  BOOST_TEST(barriers.size() == 2U);
}

/// "c", and names of which no node was up.
std::vector<NodeName> c_among(std::size_t count) {
  std::vector<NodeName> names{"c"};
  while (names.size() < count) names.push_back("c" + std::to_string(100'000 + names.size()));
  return names;
}

BOOST_AUTO_TEST_CASE(entry_at_a_place_of_too_many_members_is_refused, *label("attack")) {
  Place place;
  std::size_t missing = 0;
  std::string refusal;
  const auto enter = [&](std::size_t members) {
    msg::BarrierEntered entered{Place::entry("c", members), "barrier", c_among(members), {}, true, {}, {}};
    place.barriers.enter(TimePoint{}, "c", std::move(entered), [&](Result<msg::BarrierPassed> result) {
      result ? void(missing = result.value().missing.size()) : void(refusal = result.error().message);
    });
  };
  enter(Barriers::kMembersMax);
  BOOST_TEST(missing == Barriers::kMembersMax - 1);
  enter(Barriers::kMembersMax + 1);
  BOOST_TEST(refusal == "c waits for a group of 16385 members: at most 16384 meet");
  BOOST_TEST(place.barriers.size() == 0U);
}

BOOST_AUTO_TEST_CASE(limit_that_passes_costs_nothing_at_other_places, *label("attack")) {
  Place place;
  std::vector<NodeName> names = c_among(10'000);
  names.insert(names.begin(), "a");  // it does not come
  place.enter("c", 1, msg::BarrierEntered{{}, "barrier", names, {}, true, {}, {}});
  place.enter_within(10us, "b");
  const testing::PeakMemory memory;
  place.barriers.expire(TimePoint(10us));
  const std::size_t bytes = memory.bytes();
  BOOST_TEST(bytes < 10'000U);
  BOOST_TEST(place.told.size() == 1U);
}

BOOST_AUTO_TEST_CASE(the_end_of_the_node_ends_every_wait) {
  Place place;
  place.enter("a", 1);
  place.enter_partial("b", 1);
  place.barriers.stop(down("a"));
  BOOST_TEST(place.told.size() == 2U);
  BOOST_TEST(place.barriers.size() == 0U);
}

/// Three members that meet several times at one barrier, withdraw entries, and may die. Messages of one member arrive
/// in any order, except that its entries keep their order.
struct Word {
  enum class Kind : std::uint8_t { entry, leave, death };
  Kind kind = Kind::entry;
  NodeName member;
  std::uint64_t number = 0;  // number of the entry
};

/// The outcome of one order of messages.
class Run {
 public:
  explicit Run(Failures failures) : failures_(failures) {
    barriers_.came("b");
    barriers_.came("c");
  }

  void play(const std::vector<Word>& order) {
    for (const Word& word : order) {
      switch (word.kind) {
        case Word::Kind::entry: enter(word); break;
        case Word::Kind::leave:
          left_.insert({word.member, word.number});
          barriers_.left(word.member, {word.member, 7, word.number});
          break;
        case Word::Kind::death:
          dead_.insert(word.member);
          barriers_.gone(word.member, down(word.member));
          break;
      }
    }
  }

  /// Every living member has been answered, or waits for a member that did not enter.
  void check_end(const std::vector<Word>& order) {
    std::map<NodeName, std::set<std::uint64_t>> waiting;
    for (const Word& word : order) {
      const std::pair key{word.member, word.number};
      if (word.kind != Word::Kind::entry || dead_.contains(word.member)) continue;
      const auto answers = answers_.find(key);
      if (answers == answers_.end()) {
        waiting[word.member].insert(word.number);
        BOOST_REQUIRE(!left_.contains(key));
      } else {
        BOOST_REQUIRE(answers->second == 1);
      }
    }
    BOOST_REQUIRE(waiting.size() + dead_.size() < 3);
    std::size_t entries = 0;
    for (const auto& [member, numbers] : waiting) entries += numbers.size();
    BOOST_REQUIRE(barriers_.size() == entries);
  }

  std::size_t met = 0;

 private:
  void enter(const Word& word) {
    if (dead_.contains(word.member)) return;  // no message of a dead member arrives any more
    came_.insert({word.member, word.number});
    msg::BarrierEntered entered{{word.member, 7, word.number},  "barrier", kThree, {},
                                failures_ == Failures::partial, {},        {}};
    entered.own.value = to_payload(nullptr, static_cast<std::int32_t>(word.number));
    barriers_.enter(TimePoint(), word.member, std::move(entered), [this, word](Result<msg::BarrierPassed> result) {
      ++answers_[{word.member, word.number}];
      if (result) check_barrier(word, result.value());
    });
  }

  void check_barrier(const Word& word, const msg::BarrierPassed& passed) {
    ++met;
    BOOST_REQUIRE(passed.values.size() + passed.missing.size() == 3U);
    for (const auto& [name, error] : passed.missing) BOOST_REQUIRE(dead_.contains(name));
    Barrier barrier;
    for (const auto& [name, brought] : passed.values) {
      const auto number = static_cast<std::uint64_t>(std::get<0>(from_payload<std::int32_t>(brought.value)));
      const std::pair key{name, number};
      BOOST_REQUIRE(came_.contains(key));
      if (!meeting_of_.contains(key)) BOOST_REQUIRE(!left_.contains(key));
      barrier[name] = number;
    }
    BOOST_REQUIRE(barrier.at(word.member) == word.number);
    // All members that met got the same answer. No member met twice with one entry, or out of order.
    for (const auto& [name, number] : barrier) {
      const auto [known, first] = meeting_of_.try_emplace({name, number}, barrier);
      BOOST_REQUIRE((known->second == barrier));
      if (!first) continue;
      BOOST_REQUIRE(last_[name] < number);
      last_[name] = number;
    }
  }

  using Barrier = std::map<NodeName, std::uint64_t>;
  using Key = std::pair<NodeName, std::uint64_t>;

  const Failures failures_;
  Barriers barriers_{"a"};
  std::set<NodeName> dead_;
  std::set<Key> came_;
  std::set<Key> left_;
  std::map<Key, int> answers_;
  std::map<Key, Barrier> meeting_of_;
  std::map<NodeName, std::uint64_t> last_;
};

/// Plays every order of `words` in which the entries of one member keep their order.
std::size_t play_all(std::vector<Word>& left, std::vector<Word>& order, Failures failures) {
  if (left.empty()) {
    Run run(failures);
    run.play(order);
    run.check_end(order);
    return run.met;
  }
  std::size_t met = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const bool is_first =
        std::none_of(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(i), [&](const Word& earlier) {
          return earlier.kind == Word::Kind::entry && left[i].kind == Word::Kind::entry &&
                 earlier.member == left[i].member;
        });
    if (!is_first) continue;
    const Word word = left[i];
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
    order.push_back(word);
    met += play_all(left, order, failures);
    order.pop_back();
    left.insert(left.begin() + static_cast<std::ptrdiff_t>(i), word);
  }
  return met;
}

BOOST_AUTO_TEST_CASE(members_meet_once_and_in_order_whatever_overtakes_what, *label("S-03")) {
  using Kind = Word::Kind;
  const std::vector<Word> entries{{Kind::entry, "a", 1}, {Kind::entry, "a", 2}, {Kind::entry, "b", 1},
                                  {Kind::entry, "b", 2}, {Kind::entry, "c", 1}, {Kind::entry, "c", 2}};
  const std::vector<std::vector<Word>> scripts{{{Kind::leave, "b", 1}},
                                               {{Kind::leave, "b", 2}, {Kind::leave, "c", 1}},
                                               {{Kind::death, "b"}},
                                               {{Kind::leave, "b", 1}, {Kind::death, "c"}}};
  for (const std::vector<Word>& script : scripts) {
    for (const Failures failures : {Failures::fail_fast, Failures::partial}) {
      std::vector<Word> words = entries;
      words.insert(words.end(), script.begin(), script.end());
      std::vector<Word> order;
      BOOST_TEST(play_all(words, order, failures) > 0U);
    }
  }
}

BOOST_AUTO_TEST_CASE(what_many_members_bring_is_held_once_while_they_are_answered) {
  constexpr std::size_t kMembers = 100;
  constexpr std::size_t kBytes = 10'000;
  std::vector<NodeName> members;
  for (std::size_t i = 100; i < 100 + kMembers; ++i) members.push_back("n" + std::to_string(i));
  Barriers barriers(members.front());
  for (const NodeName& member : members) barriers.came(member);
  std::size_t bytes_told = 0;
  const auto enter = [&](const NodeName& member) {
    msg::BarrierEntered entered{{member, 7, 1}, "all_gather", members, {}, false, {}, {}};
    entered.own.value = to_payload(nullptr, std::string(kBytes, 'x'));
    const auto due = barriers.enter(TimePoint{}, member, std::move(entered), [&](Result<msg::BarrierPassed> passed) {
      for (const auto& [name, brought] : passed.value().values) bytes_told += brought.value.bytes.bytes.size();
    });
    BOOST_TEST(!due);
  };
  for (std::size_t i = 0; i + 1 < kMembers; ++i) enter(members[i]);
  BOOST_TEST(bytes_told == 0U);
  const testing::PeakMemory peak;
  enter(members.back());
  BOOST_TEST(bytes_told >= kMembers * kMembers * kBytes);
  BOOST_TEST(peak.bytes() < 3 * kMembers * kBytes);
}

// The leader of the round before is gone: each member says which n entries it met there.
BOOST_AUTO_TEST_CASE(next_leader_tells_each_member_as_many_entries_that_have_met_as_there_are_members) {
  for (const std::size_t members_left : {16U, 32U, 64U}) {
    std::vector<NodeName> members;
    for (std::size_t i = 100; i < 100 + members_left; ++i) members.push_back("n" + std::to_string(i));
    Barriers barriers(members.front());
    std::vector<BarrierEntryId> met;
    for (const NodeName& member : members) {
      barriers.came(member);
      met.push_back(Place::entry(member, 1));
    }
    std::size_t answers = 0;
    std::size_t entries_told = 0;
    for (const NodeName& member : members) {
      msg::BarrierEntered entered{Place::entry(member, 2), "all_gather", members, {}, true, {}, {}};
      add_note(entered.own, {entered.entry, met});
      barriers.enter({}, member, std::move(entered), [&](Result<msg::BarrierPassed> passed) {
        ++answers;
        for (auto& [name, brought] : passed.value().values) entries_told += take_note(brought).met.size();
      });
    }
    BOOST_TEST(answers == members_left);
    BOOST_TEST(entries_told == members_left * members_left);  // not the third power
  }
}

BOOST_FIXTURE_TEST_CASE(why_peers_are_gone_is_kept_of_the_last_ones, Place) {
  barriers.gone("b", down("b"));
  barriers.gone("c", down("c"));
  enter("a", 1);
  BOOST_TEST(told.back() == "a <- peer_down b: connection closed");
  barriers.came("b");  // again
  for (std::size_t number = 0; number < Barriers::kGoneMax; ++number) {
    const NodeName worker = "worker" + std::to_string(number);
    barriers.came(worker);
    barriers.gone(worker, down(worker));
  }
  barriers.gone("b", down("b"));
  enter("a", 1);
  BOOST_TEST(told.back() == "a <- peer_down b: connection closed");
  enter("a", 1, {"a", "worker1"});
  BOOST_TEST(told.back() == "a <- peer_down worker1: connection closed");
  enter("a", 1, {"a", "worker0"});
  BOOST_TEST(told.back() == "a <- not_joined worker0: no node of that name is in this cluster");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail

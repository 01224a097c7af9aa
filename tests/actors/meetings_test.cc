#include "actors/meetings.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "messages/values.h"

namespace troupe::detail {
namespace {

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

/// The meetings at node "a", where b and c are up, and what members were told: "1: a=5 b=7", "1: timeout ...".
struct Place {
  Place() {
    meetings.came("b");
    meetings.came("c");
  }

  void enter(const NodeName& member, std::int32_t value, msg::BarrierEntered entered) {
    entered.own.value = to_payload(nullptr, value);
    meetings.enter(TimePoint(now), member, std::move(entered), [this, member](Result<msg::BarrierPassed> result) {
      told.push_back(member + " <- " + (result ? text(result.value()) : std::string(name_of(result.error().code)) + " " +
                                                                            result.error().peer + ": " + result.error().message));
    });
  }
  void enter(const NodeName& member, std::int32_t value, std::vector<NodeName> members = kThree) {
    enter(member, value, msg::BarrierEntered{"barrier", std::move(members), {}, false, {}, {}});
  }
  void enter_within(std::chrono::microseconds limit, const NodeName& member) {
    enter(member, 0, msg::BarrierEntered{"all_gather", kThree, {}, false, limit, {}});
  }
  void enter_partial(const NodeName& member, std::int32_t value) {
    enter(member, value, msg::BarrierEntered{"barrier", kThree, {}, true, {}, {}});
  }

  static std::string text(const msg::BarrierPassed& passed) {
    std::string text;
    for (const auto& [name, brought] : passed.values) {
      text += name + "=" + std::to_string(std::get<0>(from_payload<std::int32_t>(brought.value))) + " ";
    }
    for (const auto& [name, error] : passed.missing) text += name + ": " + std::string(name_of(error.code)) + " ";
    return text;
  }

  Meetings meetings{"a"};
  Duration now{0};
  std::vector<std::string> told;
};

#define CHECK_TOLD(place, ...) BOOST_TEST(((place).told == std::vector<std::string>{__VA_ARGS__}))

BOOST_AUTO_TEST_SUITE(meetings)

BOOST_AUTO_TEST_CASE(nobody_passes_before_all_are_there, *label("S-03")) {
  Place place;
  place.enter("c", 3);
  place.enter("a", 1);
  BOOST_TEST(place.told.empty());
  place.enter("b", 2);
  CHECK_TOLD(place, "a <- a=1 b=2 c=3 ", "b <- a=1 b=2 c=3 ", "c <- a=1 b=2 c=3 ");
  BOOST_TEST(place.meetings.size() == 0U);
}

BOOST_AUTO_TEST_CASE(groups_do_not_disturb_each_other, *label("S-03")) {
  Place place;
  place.enter("a", 1, {"a", "b"});
  place.enter("b", 2);
  place.enter("b", 3, {"b", "c"});
  BOOST_TEST(place.told.empty());
  place.enter("b", 4, {"a", "b"});
  CHECK_TOLD(place, "a <- a=1 b=4 ", "b <- a=1 b=4 ");
  BOOST_TEST(place.meetings.size() == 2U);
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
  BOOST_TEST(place.meetings.open(TimePoint(0s)).empty());
  place.enter("c", 3);
  place.now = 1s;
  place.enter("a", 1);
  place.enter("b", 2, {"a", "b"});
  place.now = 3s;
  const std::vector<OpenMeeting> expected{{"barrier", {{"b", 2s}}, {"a"}}, {"barrier", {{"c", 3s}, {"a", 2s}}, {"b"}}};
  BOOST_TEST((place.meetings.open(TimePoint(place.now)) == expected));
}

BOOST_AUTO_TEST_CASE(only_the_receiver_of_a_gather_gets_the_values) {
  Place place;
  for (const char* member : {"a", "b", "c"}) place.enter(member, 1, msg::BarrierEntered{"gather", kThree, "b", false, {}, {}});
  CHECK_TOLD(place, "a <- ", "b <- a=1 b=1 c=1 ", "c <- ");
}

BOOST_AUTO_TEST_CASE(who_waits_too_long_is_told_how_long_and_for_whom, *label("S-02")) {
  Place place;
  place.enter_within(100ms, "a");
  place.now = 40ms;
  place.enter_within(100ms, "c");
  BOOST_TEST((place.meetings.next_due() == TimePoint(100ms)));
  place.meetings.expire(TimePoint(99ms));
  BOOST_TEST(place.told.empty());
  place.meetings.expire(TimePoint(100ms));
  CHECK_TOLD(place, "a <- timeout : timed out in all_gather after 0.10 seconds: b did not come");
  place.told.clear();
  BOOST_TEST((place.meetings.next_due() == TimePoint(140ms)));
  place.meetings.expire(TimePoint(140ms));
  CHECK_TOLD(place, "c <- timeout : timed out in all_gather after 0.10 seconds: a, b did not come");
  BOOST_TEST(!place.meetings.next_due());
}

BOOST_AUTO_TEST_CASE(entry_that_ran_out_of_time_meets_nobody) {
  Place place;
  place.enter("a", 1, msg::BarrierEntered{"barrier", {"a", "b"}, {}, false, 10us, {}});
  place.meetings.expire(TimePoint(10us));
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
  place.meetings.gone("c", down("c"));
  CHECK_TOLD(place, "a <- peer_down c: connection closed");  // c is told nothing
  place.told.clear();
  place.enter("b", 2);
  CHECK_TOLD(place, "b <- peer_down c: connection closed");
  place.told.clear();
  place.meetings.came("c");
  for (const NodeName& member : kThree) place.enter(member, 4);
  BOOST_TEST(place.told.size() == 3U);
}

BOOST_AUTO_TEST_CASE(partial_meeting_goes_on_without_the_dead_and_names_them) {
  Place place;
  place.enter_partial("c", 3);
  place.enter_partial("a", 1);
  place.meetings.gone("c", down("c"));
  BOOST_TEST(place.told.empty());
  place.enter_partial("b", 2);
  CHECK_TOLD(place, "a <- a=1 b=2 c: peer_down ", "b <- a=1 b=2 c: peer_down ");
  place.told.clear();
  place.enter_partial("a", 5);
  place.meetings.gone("b", down("b"));
  CHECK_TOLD(place, "a <- a=5 b: peer_down c: peer_down ");
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

BOOST_AUTO_TEST_CASE(the_end_of_the_node_ends_every_wait) {
  Place place;
  place.enter("a", 1);
  place.enter_partial("b", 1);
  place.meetings.stop(down("a"));
  BOOST_TEST(place.told.size() == 2U);
  BOOST_TEST(place.meetings.size() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail

// Which call led to which event, and when that was on one clock.
#include "actors/profile/joined_events.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(joined_events)

namespace {

using namespace std::chrono_literals;
using detail::RecordedEvent;

RecordedEvent call(std::string name, NodeName to, std::vector<std::uint32_t> path, NodeName caller = {}) {
  return {.kind = EventKind::call,
          .name = std::move(name),
          .caller = std::move(caller),
          .to = std::move(to),
          .path = std::move(path)};
}

RecordedEvent function(std::string name, std::vector<std::uint32_t> path, NodeName caller = {}) {
  return {.kind = EventKind::function, .name = std::move(name), .caller = std::move(caller), .path = std::move(path)};
}

RecordedEvent in_context(RecordedEvent event, std::string context = "a.1") {
  event.context = std::move(context);
  return event;
}

RecordedEvent at(std::chrono::milliseconds begin, std::chrono::milliseconds end, RecordedEvent event) {
  event.begin = Duration(begin).count();
  event.end = Duration(end).count();
  return event;
}

std::vector<std::string> names(const std::vector<ProfileEvent>& events) {
  std::vector<std::string> all;
  for (const ProfileEvent& event : events) all.push_back(event.node + " " + event.full_name());
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_event_is_named_after_the_calls_that_led_to_it) {
  const auto events = detail::joined({{"a", {}, {call("rpc#f(a -> b)", "b", {0})}},
                                      {"b", {}, {function("f", {0}, "a"), call("rpc#g(b -> c)", "c", {0, 4}, "a")}},
                                      {"c", {}, {function("g", {0, 4}, "b")}}},
                                     {});
  BOOST_TEST((names(events) == std::vector<std::string>{"a rpc#f(a -> b)", "b rpc#f(a -> b)#remote: f",
                                                        "b rpc#f(a -> b)#rpc#g(b -> c)",
                                                        "c rpc#f(a -> b)#rpc#g(b -> c)#remote: g"}));
}

// Paths begin anew in each program and in each context.
BOOST_AUTO_TEST_CASE(equal_paths_of_other_programs_and_contexts_are_told_apart) {
  const auto events = detail::joined(
      {{"a", {}, {call("rpc#f(a -> b)", "b", {0}), in_context(call("rpc#h(a -> b)", "b", {0}))}},
       {"d", {}, {call("rpc#f(d -> b)", "b", {0}), call("rpc#f(d -> c)", "c", {0})}},
       {"b", {}, {function("f", {0}, "a"), in_context(function("h", {0}, "a")), function("f", {0}, "d")}},
       {"c", {}, {function("f", {0}, "d")}}},
      {});
  BOOST_TEST((names(events) == std::vector<std::string>{"a rpc#f(a -> b)", "a rpc#h(a -> b)", "d rpc#f(d -> b)",
                                                        "d rpc#f(d -> c)", "b rpc#f(a -> b)#remote: f",
                                                        "b rpc#h(a -> b)#remote: h", "b rpc#f(d -> b)#remote: f",
                                                        "c rpc#f(d -> c)#remote: f"}));
}

BOOST_AUTO_TEST_CASE(a_function_with_a_context_of_its_own_is_still_part_of_its_call) {
  const auto events = detail::joined({{"a", {}, {call("rpc#f(a -> b)", "b", {0})}},
                                      {"b", {}, {in_context(call("rpc#g(b -> c)", "c", {0, 0}, "a"), "b.1")}},
                                      {"c", {}, {in_context(function("g", {0, 0}, "b"), "b.1")}}},
                                     {});
  BOOST_TEST((names(events) == std::vector<std::string>{"a rpc#f(a -> b)", "b rpc#f(a -> b)#rpc#g(b -> c)",
                                                        "c rpc#f(a -> b)#rpc#g(b -> c)#remote: g"}));
}

// a and d call functions of b, which both call g of c: all that is alike but the time.
BOOST_AUTO_TEST_CASE(of_calls_that_are_alike_the_one_during_which_an_event_began_led_to_it) {
  const std::vector<detail::EventsOfNode> nodes{
      {"a", {}, {at(1ms, 4ms, call("rpc#f(a -> b)", "b", {0}))}},
      {"d", {}, {at(5ms, 8ms, call("rpc#h(d -> b)", "b", {0}))}},
      {"b",
       {},
       {at(2ms, 3ms, call("rpc#g(b -> c)", "c", {0, 0}, "a")), at(6ms, 7ms, call("rpc#g(b -> c)", "c", {0, 0}, "d"))}},
      {"c", {}, {at(6ms, 7ms, function("g", {0, 0}, "b")), at(2ms, 3ms, function("g", {0, 0}, "b"))}}};
  const auto events = detail::joined(nodes, {});
  BOOST_TEST((names(events) == std::vector<std::string>{"a rpc#f(a -> b)", "b rpc#f(a -> b)#rpc#g(b -> c)",
                                                        "c rpc#f(a -> b)#rpc#g(b -> c)#remote: g", "d rpc#h(d -> b)",
                                                        "b rpc#h(d -> b)#rpc#g(b -> c)",
                                                        "c rpc#h(d -> b)#rpc#g(b -> c)#remote: g"}));
}

/// Returns which of three calls, at 2 to 9, 4 to 6 and 5 to 7 ms, led to a function that began at `begin` on a node
/// whose clock is `unsure`.
std::string parent_of(Duration begin, Duration unsure = {}) {
  RecordedEvent served = function("served", {0, 0}, "b");
  served.begin = begin.count();
  served.end = Duration(10s).count();
  const auto events =
      detail::joined({{"b",
                       {},
                       {at(5ms, 7ms, call("third", "c", {0, 0}, "e")), at(2ms, 9ms, call("first", "c", {0, 0}, "a")),
                        at(4ms, 6ms, call("second", "c", {0, 0}, "d"))}},
                      {"c", {}, {served}, unsure}},
                     {});
  for (const ProfileEvent& event : events) {
    if (event.name == "served") return event.within;
  }
  return "missing";
}

BOOST_AUTO_TEST_CASE(an_event_that_none_or_several_calls_may_have_led_to_is_named_after_none) {
  BOOST_TEST(parent_of(1ms) == "");
  BOOST_TEST(parent_of(2ms) == "first");
  BOOST_TEST(parent_of(4ms) == "");
  BOOST_TEST(parent_of(6ms) == "");
  BOOST_TEST(parent_of(7ms) == "");
  BOOST_TEST(parent_of(8ms) == "first");
  BOOST_TEST(parent_of(9ms + 1us) == "");
}

BOOST_AUTO_TEST_CASE(times_of_two_nodes_are_compared_as_sure_as_their_clocks_are) {
  BOOST_TEST(parent_of(1900us, 100us) == "first");
  BOOST_TEST(parent_of(1900us, 99us) == "");
  BOOST_TEST(parent_of(9100us, 100us) == "first");
  BOOST_TEST(parent_of(3900us, 100us) == "");  // or the second
  BOOST_TEST(parent_of(7100us, 100us) == "");  // or the third
  BOOST_TEST(parent_of(7101us, 100us) == "first");
  const auto after = [](std::chrono::milliseconds late) {
    const std::chrono::milliseconds end = 10s;
    return detail::joined(
               {{"a",
                 {},
                 {at(0ms, 1ms, call("rpc#f(a -> b)", "b", {0})), at(2ms, end, call("rpc#f(a -> b)", "b", {0}))}},
                {"b", {}, {at(end + late, end + late, function("f", {0}, "a"))}}},
               {})
        .back()
        .within;
  };
  BOOST_TEST(after(1ms) == "rpc#f(a -> b)");  // clocks drift apart
  BOOST_TEST(after(2ms) == "");
}

// The function of a `remote` begins after the answer of its call.
BOOST_AUTO_TEST_CASE(the_only_call_before_an_event_led_to_it_even_if_it_has_ended) {
  const auto events = detail::joined(
      {{"a", {}, {at(2ms, 3ms, call("remote#f(a -> b)", "b", {0}))}},
       {"b", {}, {at(1ms, 2ms, function("too early", {0}, "a")), at(5ms, 6ms, function("f", {0}, "a"))}}},
      {});
  BOOST_TEST(
      (names(events) == std::vector<std::string>{"b too early", "a remote#f(a -> b)", "b remote#f(a -> b)#remote: f"}));
}

// The call of h, in the context of a, has not ended. That of f is another.
BOOST_AUTO_TEST_CASE(an_event_in_a_context_of_another_node_belongs_to_calls_in_that_context) {
  const auto events = detail::joined({{"a", {}, {call("rpc#f(a -> b)", "b", {0})}},
                                      {"b", {}, {function("f", {0}, "a"), in_context(function("h", {0}, "a"))}}},
                                     {});
  BOOST_TEST((names(events) == std::vector<std::string>{"a rpc#f(a -> b)", "b rpc#f(a -> b)#remote: f", "b h"}));
}

BOOST_AUTO_TEST_CASE(times_are_those_of_the_profilers_clock) {
  RecordedEvent here = function("here", {});
  here.begin = Duration(10ms).count();
  here.end = Duration(12ms).count();
  RecordedEvent there = function("there", {});
  there.begin = Duration(1009ms).count();
  there.end = Duration(1010ms).count();
  const auto events = detail::joined({{"a", {}, {here}}, {"b", 1s, {there}}}, TimePoint(8ms));
  BOOST_TEST((names(events) == std::vector<std::string>{"b there", "a here"}));
  BOOST_TEST((events[0].begin == 1ms));
  BOOST_TEST((events[0].length == 1ms));
  BOOST_TEST((events[1].begin == 2ms));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_true_is_left_out) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::vector<RecordedEvent> lies;
  for (const auto& [begin, end] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {kLeast, kMost}, {kMost, kMost}, {kLeast, kLeast}, {2, 1}, {0, kMost}, {kLeast, 0}}) {
    lies.push_back(function("lie", {}));
    lies.back().begin = begin;
    lies.back().end = end;
  }
  RecordedEvent strange = function("strange", {});
  strange.kind = static_cast<EventKind>(200);
  lies.push_back(strange);
  lies.push_back(function("true", {}));
  for (const Duration ahead : {Duration(0), Duration(Duration::max() / 4)}) {
    const auto events = detail::joined({{"a", ahead, lies}}, TimePoint(1s));
    BOOST_TEST(events.size() == (ahead == Duration(0) ? 1U : 0U));
  }
}

// A name is shown with each event that it led to: a node could make the profiler keep any multiple of what it sends.
BOOST_AUTO_TEST_CASE(calls_with_longer_names_than_a_node_records_are_left_out) {
  std::vector<RecordedEvent> there(1000, function("f", {0}, "a"));
  const auto events = detail::joined({{"a", {}, {call(std::string(257, 'x'), "b", {0})}}, {"b", {}, there}}, {});
  BOOST_TEST(events.size() == 1000U);
  BOOST_TEST(events.back().full_name() == "f");
  const std::string longest(256, 'x');
  BOOST_TEST(detail::joined({{"a", {}, {call(longest, "b", {0})}}, {"b", {}, there}}, {}).back().within == longest);
}

// The deepest is under 5,000 calls, each with a path that is as long as it is deep: 50 MB.
BOOST_AUTO_TEST_CASE(a_deep_event_is_found_at_once_and_named_after_the_calls_next_to_it) {
  std::vector<RecordedEvent> there;
  std::vector<std::uint32_t> path;
  for (int depth = 1; depth <= 5000; ++depth) {
    path.push_back(0);
    there.push_back(call("rpc#f(a -> a)", "a", path, "a"));
  }
  for (int i = 0; i < 4000; ++i) there.push_back(function("f", path, "a"));
  const auto events = detail::joined({{"a", {}, there}}, {});
  BOOST_REQUIRE(events.size() == 9000U);
  const std::string& within = events.back().within;
  BOOST_TEST(within.size() <= 2048U);
  BOOST_TEST(within.size() > 2000U);
  BOOST_TEST(within.starts_with("...#rpc#f(a -> a)#rpc#f(a -> a)#"));
  BOOST_TEST(events[99].within.size() == 99 * 14U - 1);  // fourteen bytes each with what is between them
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing

// The table and the trace of a profile.
#include "actors/profile/profile.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(profile)

namespace {

using namespace std::chrono_literals;

ProfileEvent event(EventKind kind, NodeName node, std::string name, Duration begin, Duration length) {
  ProfileEvent made;
  made.kind = kind;
  made.node = std::move(node);
  made.name = std::move(name);
  made.begin = begin;
  made.length = length;
  return made;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_table_has_the_longest_first_and_says_what_is_left_out) {
  Profile profile;
  profile.events = {event(EventKind::kernel, "a", "add", 0us, 1us), event(EventKind::kernel, "a", "matmul", 1us, 2ms),
                    event(EventKind::kernel, "a", "matmul", 3ms, 4ms),
                    event(EventKind::kernel, "b", "matmul", 3ms, 2s)};
  profile.lost = {{"b", 7}};
  Error why;
  why.code = ErrorCode::peer_down;
  why.peer = "c";
  why.message = "connection closed";
  profile.missing = {{"c", why}};
  BOOST_TEST(profile.table(2) ==
             "name    node    count       total        mean     longest\n"
             "matmul  b           1     2.000 s     2.000 s     2.000 s\n"
             "matmul  a           2     6.00 ms     3.00 ms     4.00 ms\n"
             "... and 1 more names\n"
             "b: 7 events more than it keeps\n"
             "c: " +
                 why.text() + "\n");
  BOOST_TEST(Profile().table() == "name  node    count       total        mean     longest\n");
}

BOOST_AUTO_TEST_CASE(full_names_tell_what_an_event_is_part_of) {
  ProfileEvent kernel = event(EventKind::kernel, "b", "matmul", 0us, 1us);
  BOOST_TEST(kernel.full_name() == "matmul");
  kernel.within = "rpc#f(a -> b)";
  BOOST_TEST(kernel.full_name() == "rpc#f(a -> b)#remote: matmul");
  kernel.kind = EventKind::backward;
  BOOST_TEST(kernel.full_name() == "rpc#f(a -> b)#remote: matmul backward");
  ProfileEvent call = event(EventKind::call, "b", "rpc#g(b -> c)", 0us, 1us);
  call.within = "rpc#f(a -> b)";
  BOOST_TEST(call.full_name() == "rpc#f(a -> b)#rpc#g(b -> c)");
}

// Calls and functions overlap on one thread: they have a begin and an end. Kernels do not.
BOOST_AUTO_TEST_CASE(the_trace_has_begins_and_ends_of_what_may_overlap) {
  Profile profile;
  profile.events = {event(EventKind::call, "a", "rpc#f(a -> b)", 1us, 9us),
                    event(EventKind::kernel, "b", "\"\n\xff", 2us, 3us)};
  profile.events[1].inputs = "f32 (2)";
  const auto trace = nlohmann::json::parse(profile.trace()).at("traceEvents");
  BOOST_REQUIRE(trace.size() == 5U);
  BOOST_TEST(trace[0].at("args").at("name") == "a");
  BOOST_TEST(trace[2].at("ph") == "b");
  BOOST_TEST(trace[2].at("ts") == 1.0);
  BOOST_TEST(trace[3].at("ph") == "e");
  BOOST_TEST(trace[3].at("ts") == 10.0);
  BOOST_TEST(trace[3].at("id") == trace[2].at("id"));
  BOOST_TEST(trace[4].at("ph") == "X");
  BOOST_TEST(trace[4].at("dur") == 3.0);
  BOOST_TEST(trace[4].at("pid") == trace[1].at("pid"));
  BOOST_TEST(trace[4].at("args").at("inputs") == "f32 (2)");
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing

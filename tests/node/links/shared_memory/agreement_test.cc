#include "node/links/shared_memory/agreement.h"

#include <boost/test/unit_test.hpp>

#include <chrono>

namespace troupe::detail {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart{};

BOOST_AUTO_TEST_SUITE(agreement)

const PeerTransport kSockets{.way = "unix sockets", .why = {}};

BOOST_AUTO_TEST_CASE(one_that_is_not_begun_has_a_reason_and_no_news) {
  Agreement agreement("not wanted");
  BOOST_TEST(!agreement.is_reached());
  BOOST_TEST(agreement.why() == "not wanted");
  BOOST_TEST(!agreement.news(kStart + 1h, 5s).has_value());
}

BOOST_AUTO_TEST_CASE(a_failure_is_news_at_once_and_once_with_its_first_reason) {
  Agreement agreement;
  agreement.failed("no memory");
  agreement.failed("no answer");
  agreement.asked("an answer", kStart);
  BOOST_TEST(agreement.news(kStart, 5s).value() == "no memory");
  BOOST_TEST(!agreement.news(kStart + 1h, 5s).has_value());
  BOOST_TEST(agreement.why() == "no memory");
}

BOOST_AUTO_TEST_CASE(a_peer_that_does_not_answer_is_news_when_patience_ends_and_once) {
  Agreement agreement;
  agreement.asked("no hello", kStart);
  BOOST_TEST(!agreement.news(kStart + 4'999ms, 5s).has_value());
  agreement.asked("no answer", kStart + 4s);  // another question
  BOOST_TEST(!agreement.news(kStart + 8'999ms, 5s).has_value());
  BOOST_TEST(agreement.news(kStart + 9s, 5s).value() == "no answer");
  agreement.failed("no memory");
  BOOST_TEST(!agreement.news(kStart + 1h, 5s).has_value());
  BOOST_TEST(agreement.why() == "no memory");
}

BOOST_AUTO_TEST_CASE(one_that_is_reached_late_has_no_reason_left) {
  Agreement agreement;
  agreement.failed("no answer");
  agreement.reached();
  BOOST_TEST(agreement.is_reached());
  BOOST_TEST(agreement.why().empty());
  BOOST_TEST(!agreement.news(kStart + 1h, 5s).has_value());
}

BOOST_AUTO_TEST_CASE(a_transport_is_what_was_reached_and_why_not_more) {
  Agreement memory("off");
  Agreement ring("too early");
  Agreement room;
  BOOST_TEST(transport_of(memory, ring, room, kSockets).text() ==
             "unix sockets (no shared memory: off; no ring: too early)");
  BOOST_TEST(transport_of(memory, memory, room, kSockets).text() == "unix sockets (no shared memory, no ring: off)");
  ring.reached();
  BOOST_TEST(transport_of(memory, ring, room, kSockets).text() == "unix sockets + ring (no shared memory: off)");
  memory.reached();
  BOOST_TEST(transport_of(memory, ring, room, kSockets).text() == "shared memory + ring");
  BOOST_TEST(transport_of(memory, Agreement("off"), room, kSockets).text() == "shared memory (no ring: off)");
  room.failed("full");
  BOOST_TEST(transport_of(memory, ring, room, kSockets).text() == "shared memory + ring (not all tensors: full)");
  BOOST_TEST(transport_of(memory, ring, room, {.way = "tcp", .why = "no stream: off"}).text() ==
             "shared memory + ring (not all tensors: full)");
  BOOST_TEST(transport_of(Agreement("off"), ring, room, {.way = "tcp", .why = "no stream: off"}).text() ==
             "tcp + ring (no stream: off; no shared memory: off)");
  BOOST_TEST(transport_of(Agreement("off"), ring, room, kSockets).text() ==
             "unix sockets + ring (no shared memory: off)");
}

BOOST_AUTO_TEST_CASE(who_asks_the_same_again_has_waited_since_the_first_time) {
  const TimePoint begin{1h};
  Agreement agreement;
  agreement.asked("missing", begin);
  BOOST_TEST(!agreement.is_to_be_repeated(begin + 4s, 5s));
  BOOST_TEST(agreement.is_to_be_repeated(begin + 5s, 5s));
  agreement.asked("missing", begin + 5s);
  BOOST_TEST(agreement.has_news(begin + 5s, 5s));
  BOOST_TEST(!agreement.is_to_be_repeated(begin + 14s, 5s));
  BOOST_TEST(agreement.is_to_be_repeated(begin + 15s, 5s));
  agreement.asked("another thing", begin + 15s);
  BOOST_TEST(!agreement.has_news(begin + 16s, 5s));
  agreement.reached();
  BOOST_TEST(!agreement.is_to_be_repeated(begin + 1h, 5s));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail

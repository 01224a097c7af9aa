#include "node/port/ending.h"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/counting_new.h"
#include "tests/support/recording_sink.h"
#include "tests/support/two_ports.h"

namespace troupe::port {
BOOST_AUTO_TEST_SUITE(port_ending)

namespace {

/// What was told of one call.
struct Told {
  [[nodiscard]] Port::Done done() {
    return [this](const Port::Result& result) { ends.push_back(testing::describe(result)); };
  }
  std::vector<std::string> ends;
};

using Ends = std::vector<std::string>;
const auto per_element = boost::test_tools::per_element();

}  // namespace

BOOST_AUTO_TEST_CASE(end_is_told_once) {
  Told told;
  {
    Ending ending;
    ending.expect(told.done());
    ending.end(Port::Outcome::peer_lost, {}, "b is gone");
    BOOST_TEST(told.ends.empty());
    ending.tell();
    ending.tell();
  }
  BOOST_TEST(told.ends == Ends{"peer_lost: b is gone"}, per_element);
}

BOOST_AUTO_TEST_CASE(call_that_is_dropped_has_ended_as_stopped_and_one_never_made_has_no_end) {
  Told told;
  {
    Ending dropped;
    dropped.expect(told.done());
    const Ending never_made;
  }
  BOOST_TEST(told.ends == Ends{"stopped: out of memory"}, per_element);
}

BOOST_AUTO_TEST_CASE(call_is_open_from_when_it_is_made_until_it_ends_however_it_does) {
  Told told;
  const auto open = std::make_shared<Ending::Count>(0);
  const auto under_way = std::make_shared<int>();
  {
    Ending ended(open, under_way);
    Ending dropped(open);
    BOOST_TEST(open->load() == 0U);
    ended.expect(told.done());
    dropped.expect(told.done());
    BOOST_TEST(open->load() == 2U);
    ended.end(Port::Outcome::timeout, {}, "late");
    BOOST_TEST(open->load() == 1U);
    ended.tell();
    BOOST_TEST(open->load() == 1U);
    BOOST_TEST(under_way.use_count() == 2);
  }
  BOOST_TEST(open->load() == 0U);
  BOOST_TEST(under_way.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(answer_without_memory_for_its_parts_ends_its_call_as_stopped) {
  const Frame part = testing::frame_of("seven");
  Port::Outcome outcome = Port::Outcome::answered;
  Ending ending;
  ending.expect([&outcome](const Port::Result& result) { outcome = result.outcome; });
  ending.end(Port::Outcome::answered, {{5}, {part}}, {});
  {
    const testing::RefusedAllocation refused(1);
    ending.tell();
  }
  BOOST_TEST((outcome == Port::Outcome::stopped));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::port

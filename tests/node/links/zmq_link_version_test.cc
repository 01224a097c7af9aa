#include "node/links/zmq_link_version.h"

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(zmq_link_version)

BOOST_AUTO_TEST_CASE(old_libraries_are_refused_and_less_old_ones_are_warned_of, *boost::unit_test::label("S18")) {
  std::vector<std::string> warnings;
  const auto warn = [&](std::string_view line) { warnings.emplace_back(line); };
  for (const ZmqVersion& old : {ZmqVersion{2, 9, 9}, ZmqVersion{4, 0, 10}, ZmqVersion{4, 2, 5}, ZmqVersion{4, 3, 1}}) {
    const auto checked = check_zmq_version(old, warn);
    BOOST_TEST_REQUIRE(!checked.ok());
    BOOST_TEST((checked.error().code == ErrorCode::bad_argument));
  }
  BOOST_TEST(check_zmq_version({4, 3, 1}, {}).error().message ==
             "this process has loaded libzmq 4.3.1, in which strangers can run code: it needs 4.3.2, better 4.3.3");
  BOOST_TEST(warnings.empty());
  BOOST_TEST(check_zmq_version({4, 3, 2}, warn).ok());
  BOOST_TEST(
      (warnings == std::vector<std::string>{"libzmq 4.3.2 lets strangers use up memory: install 4.3.3 or later"}));
  BOOST_TEST(check_zmq_version({4, 3, 2}, {}).ok());
  for (const ZmqVersion& young : {ZmqVersion{4, 3, 3}, ZmqVersion{4, 4, 0}, ZmqVersion{5, 0, 0}})
    BOOST_TEST(check_zmq_version(young, warn).ok());
  BOOST_TEST(warnings.size() == 1U);
}

BOOST_AUTO_TEST_CASE(the_library_that_is_loaded_here_will_do) {
  BOOST_TEST(check_zmq_version(loaded_zmq_version(), {}).ok());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe

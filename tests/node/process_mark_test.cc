#include "node/process_mark.h"

#include <boost/test/unit_test.hpp>

#include <sys/wait.h>
#include <unistd.h>

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(process_mark)

BOOST_AUTO_TEST_CASE(only_the_process_that_made_a_mark_has_it, *boost::unit_test::label("fault-F30")) {
  const auto mark = detail::mark_of_this_process();
  BOOST_REQUIRE(mark);
  BOOST_TEST(mark->load());
  const pid_t child = ::fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {  // which may make one of its own
    const auto own = detail::mark_of_this_process();
    ::_exit(!mark->load() && own->load() ? 0 : 1);
  }
  int status = -1;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  BOOST_TEST(status == 0);
  BOOST_TEST(mark->load());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe

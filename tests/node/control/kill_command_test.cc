// The names of signals.
#include "node/control/kill_command.h"

#include <boost/test/unit_test.hpp>

#include <signal.h>

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(kill_command)

BOOST_AUTO_TEST_CASE(signals_have_names_and_numbers) {
  for (const char* text : {"TERM", "SIGTERM", "term", "sigterm", "15"}) {
    BOOST_TEST_CONTEXT(text) { BOOST_TEST(detail::signal_number(text) == SIGTERM); }
  }
  BOOST_TEST(detail::signal_number("9") == SIGKILL);
  for (const char* text : {"", "0", "-9", "9x", "SIG", "SIGSIGTERM", "TERMINATE", "65"}) {
    BOOST_TEST_CONTEXT(text) { BOOST_TEST(detail::signal_number(text) == 0); }
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing

#pragma once

#include <boost/test/unit_test.hpp>

#include <string>

namespace troupe::testing {

/// Checks that `action` throws an `Exception` whose text is exactly `text`.
template <class Exception, class Action>
void expect_throw(Action action, const std::string& text) {
  BOOST_CHECK_EXCEPTION(action(), Exception, [&](const Exception& e) {
    if (e.what() == text) return true;
    BOOST_TEST_MESSAGE("it said: " << e.what());
    return false;
  });
}

}  // namespace troupe::testing

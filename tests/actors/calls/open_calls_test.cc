#include "actors/calls/open_calls.h"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <memory>
#include <new>
#include <string>

#include "tests/support/counting_new.h"

namespace troupe::detail {
BOOST_AUTO_TEST_SUITE(open_calls)

namespace {

Error failure(const std::string& text) {
  Error error;
  error.message = text;
  return error;
}

}  // namespace

BOOST_AUTO_TEST_CASE(nothing_open_is_waited_for_at_once) {
  OpenCalls calls;
  BOOST_TEST(!calls.wait());
}

BOOST_AUTO_TEST_CASE(the_first_failure_is_told_once) {
  const auto calls = std::make_shared<OpenCalls>();
  OpenCall first(calls), second(calls), third(calls);
  const Error one = failure("one"), two = failure("two");
  second.ended(&one);
  first.ended(&two);
  third.ended(nullptr);
  BOOST_TEST(calls->wait().value().message == "one");
  BOOST_TEST(!calls->wait());
}

BOOST_AUTO_TEST_CASE(a_call_that_was_never_made_is_not_waited_for) {
  const auto calls = std::make_shared<OpenCalls>();
  { const OpenCall never(calls); }
  BOOST_TEST(!calls->wait());
}

BOOST_AUTO_TEST_CASE(a_call_that_gets_no_memory_to_be_counted_is_not_waited_for) {
  bool is_refused = true;
  for (std::size_t n = 1; is_refused; ++n) {
    const auto calls = std::make_shared<OpenCalls>();
    {
      const testing::RefusedAllocation refused(n);
      try {
        const OpenCall call(calls);
      } catch (const std::bad_alloc&) {
      }
      is_refused = refused.happened();
    }
    BOOST_TEST(!calls->wait());
    OpenCall(calls).ended(nullptr);
    BOOST_TEST(!calls->wait());
  }
}

BOOST_AUTO_TEST_CASE(a_call_that_fails_without_memory_ends_with_its_code) {
  Error error = failure("a text that does not fit into the string itself");
  error.code = ErrorCode::peer_down;
  const auto calls = std::make_shared<OpenCalls>();
  OpenCall call(calls);
  {
    const testing::RefusedAllocation refused(1);
    call.ended(&error);
    BOOST_TEST(refused.happened());
  }
  BOOST_TEST((calls->wait().value().code == ErrorCode::peer_down));
}

BOOST_AUTO_TEST_CASE(cancel_is_seen_by_calls_made_before_and_after) {
  OpenCalls calls;
  const std::stop_token token = calls.stop_token();
  calls.cancel();
  BOOST_TEST(token.stop_requested());
  BOOST_TEST(calls.stop_token().stop_requested());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::detail

// The function of a stream on its own node: one reader at a time runs it, here or where it was sent.
#include "actors/calls/stream_source.h"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <optional>
#include <stdexcept>

#include "actors/stream.h"
#include "tests/actors/references/among_values.h"
#include "tests/support/expect_throw.h"

namespace troupe::testing {
namespace {

Stream<std::int64_t> ones() {
  for (;;) co_yield 1;
}

std::int64_t first_of(Scope& scope, const Stream<std::int64_t>& numbers) {
  return Stream<std::int64_t>(numbers).next(scope).value();
}

struct AmongStreams : AmongValues {
  AmongStreams() : AmongValues({{"first_of", &first_of}}) {}
};

BOOST_FIXTURE_TEST_SUITE(stream_source, AmongStreams)

BOOST_AUTO_TEST_CASE(a_stream_that_was_sent_is_read_by_its_receiver_only) {
  Stream<std::int64_t> numbers = ones();
  BOOST_TEST(numbers.next(*node).value() == 1);
  const auto sent = node->rpc_async("p1", &first_of, numbers);
  BOOST_TEST(p1->take<msg::Call>().size() == 1U);
  expect_throw<std::logic_error>([&] { static_cast<void>(numbers.next(*node)); },
                                 "[Stream] it was sent: only its receiver reads it");
}

BOOST_AUTO_TEST_CASE(a_stream_that_is_being_read_is_not_sent_and_not_read_by_another_thread) {
  detail::StreamClaim claim;
  claim.begin_reading();
  BOOST_TEST(!claim.send());
  BOOST_TEST(!claim.was_sent());
  expect_throw<std::logic_error>([&] { claim.begin_reading(); }, "[Stream] it is being read by another thread");
  claim.end_reading();
  BOOST_TEST(claim.send());
  BOOST_TEST(!claim.send());
  BOOST_TEST(claim.was_sent());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing

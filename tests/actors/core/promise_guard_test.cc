#include "actors/core/promise_guard.h"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "node/system_clock.h"

namespace troupe::detail {
BOOST_AUTO_TEST_SUITE(promise_guard)

namespace {

/// Records the handler's arguments in order; -1 marks a handler that was never called.
ToldOnce<int> into(std::vector<int>& told) {
  return {[&told](int value) { told.push_back(value); }, [](const auto& untold) { untold(-1); }};
}

}  // namespace

BOOST_AUTO_TEST_CASE(promise_that_nobody_kept_is_kept_when_the_guard_goes) {
  std::optional<PromiseGuard<int>> guard(
      std::in_place, Promise<int>(FutureHome{.executor = nullptr, .clock = make_system_clock()}), 7);
  const Future<int> future = guard->future();
  BOOST_TEST(!future.ready());
  guard.reset();
  BOOST_TEST(future.ready());
  BOOST_TEST(future.get() == 7);
}

BOOST_AUTO_TEST_CASE(promise_that_was_kept_stays_as_it_was) {
  std::optional<PromiseGuard<int>> guard(
      std::in_place, Promise<int>(FutureHome{.executor = nullptr, .clock = make_system_clock()}), 7);
  const Future<int> future = guard->future();
  guard->complete(3);
  guard.reset();
  BOOST_TEST(future.get() == 3);
}

BOOST_AUTO_TEST_CASE(function_is_called_when_nobody_holds_its_guard_any_more) {
  int calls = 0;
  auto one = std::make_shared<const WhenGone>([&calls] { ++calls; });
  auto other = one;
  one.reset();
  BOOST_TEST(calls == 0);
  other.reset();
  BOOST_TEST(calls == 1);
}

BOOST_AUTO_TEST_CASE(what_is_told_first_counts_through_whichever_copy) {
  std::vector<int> told;
  {
    const ToldOnce<int> handler = into(told);
    const ToldOnce<int> copy = handler;
    copy(3);
    handler(4);
  }
  BOOST_TEST(told == (std::vector<int>{3}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(who_was_not_told_is_told_when_the_last_copy_goes) {
  std::vector<int> told;
  std::optional<ToldOnce<int>> handler = into(told);
  std::optional<ToldOnce<int>> copy = handler;
  handler.reset();
  BOOST_TEST(told.empty());
  copy.reset();
  BOOST_TEST(told == (std::vector<int>{-1}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::detail

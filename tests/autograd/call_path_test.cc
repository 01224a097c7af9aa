#include "autograd/call_path.h"

#include <boost/test/unit_test.hpp>

#include <thread>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(call_path)

namespace {

std::shared_ptr<const CallPath> path(std::vector<std::uint32_t> indices) {
  return std::make_shared<const CallPath>(std::move(indices));
}

}  // namespace

BOOST_AUTO_TEST_CASE(paths_order_lexicographically_and_a_caller_before_its_calls) {
  BOOST_CHECK(CallPath() < CallPath({0}));
  BOOST_CHECK(CallPath({0}) < CallPath({0, 7}));
  BOOST_CHECK(CallPath({0, 7}) < CallPath({1}));
  BOOST_CHECK(CallPath({2}) < CallPath({10}));
}

BOOST_AUTO_TEST_CASE(a_child_path_ends_with_its_index) {
  BOOST_CHECK(CallPath({4}).child(2) == CallPath({4, 2}));
  BOOST_CHECK_EQUAL(CallPath().child(0).child(12).text(), "0.12");
  BOOST_CHECK_EQUAL(CallPath().text(), "");
}

BOOST_AUTO_TEST_CASE(without_a_guard_marks_have_the_empty_path_and_growing_serials) {
  const CreationMark first = take_creation_mark();
  const CreationMark second = take_creation_mark();
  BOOST_CHECK(first.path() == CallPath());
  BOOST_CHECK_EQUAL(second.serial, first.serial + 1);
}

BOOST_AUTO_TEST_CASE(a_guard_gives_its_path_and_counter_and_restores_what_was_before) {
  std::atomic<std::uint64_t> outer{10};
  std::atomic<std::uint64_t> inner{0};
  const CallPathGuard outer_guard(path({1}), outer);
  {
    const CallPathGuard inner_guard(path({1, 5}), inner);
    const CreationMark mark = take_creation_mark();
    BOOST_CHECK_EQUAL(mark.path().text(), "1.5");
    BOOST_CHECK_EQUAL(mark.serial, 0U);
  }
  const CreationMark mark = take_creation_mark();
  BOOST_CHECK_EQUAL(mark.path().text(), "1");
  BOOST_CHECK_EQUAL(mark.serial, 10U);
  BOOST_CHECK_EQUAL(outer.load(), 11U);
}

BOOST_AUTO_TEST_CASE(a_guard_holds_for_its_own_thread_only) {
  std::atomic<std::uint64_t> counter{0};
  const CallPathGuard guard(path({3}), counter);
  std::string elsewhere = "not asked";
  std::thread([&] { elsewhere = take_creation_mark().path().text(); }).join();
  BOOST_CHECK_EQUAL(elsewhere, "");
  BOOST_CHECK_EQUAL(take_creation_mark().path().text(), "3");
}

BOOST_AUTO_TEST_SUITE_END()

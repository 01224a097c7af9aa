#include "actors/core/query.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "actors/executor.h"
#include "node/system_clock.h"

namespace troupe::detail {
namespace {

using namespace std::chrono_literals;

struct Asker {
  FutureHome home{.executor = nullptr, .clock = make_system_clock()};
  Query<int> query{home};
};

BOOST_FIXTURE_TEST_SUITE(query, Asker)

BOOST_AUTO_TEST_CASE(query_without_questions_is_complete) {
  const auto outcome = query.wait(0s);
  BOOST_TEST(outcome.complete);
  BOOST_TEST(outcome.answers.empty());
}

BOOST_AUTO_TEST_CASE(query_is_complete_when_all_slots_are_gone_replied_or_not) {
  std::optional<Query<int>::ReplySlot> first(query.slot());
  std::optional<Query<int>::ReplySlot> copy(first);
  std::optional<Query<int>::ReplySlot> never_replied(query.slot());
  first->add(1);
  first->add(2);
  copy->add(3);
  std::thread other([&] {
    first.reset();
    copy.reset();
    never_replied.reset();
  });
  const auto outcome = query.wait(20s);
  other.join();
  BOOST_TEST(outcome.complete);
  BOOST_TEST((outcome.answers == std::vector{1, 2, 3}));
}

BOOST_AUTO_TEST_CASE(query_that_loses_patience_has_what_was_said_by_then) {
  const Query<int>::ReplySlot replied = query.slot();
  replied.add(1);
  const auto outcome = query.wait(1ms);
  BOOST_TEST(!outcome.complete);
  BOOST_TEST((outcome.answers == std::vector{1}));
  replied.add(2);  // too late: the reply is ignored
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail

#include "actors/core/survey.h"

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
  Survey<int> survey{home};
};

BOOST_FIXTURE_TEST_SUITE(survey, Asker)

BOOST_AUTO_TEST_CASE(survey_without_questions_is_complete) {
  const auto outcome = survey.wait(0s);
  BOOST_TEST(outcome.complete);
  BOOST_TEST(outcome.answers.empty());
}

BOOST_AUTO_TEST_CASE(survey_is_complete_when_all_forms_are_gone_filled_in_or_not) {
  std::optional<Survey<int>::Form> first(survey.form());
  std::optional<Survey<int>::Form> copy(first);
  std::optional<Survey<int>::Form> never_filled_in(survey.form());
  first->add(1);
  first->add(2);
  copy->add(3);
  std::thread other([&] {
    first.reset();
    copy.reset();
    never_filled_in.reset();
  });
  const auto outcome = survey.wait(20s);
  other.join();
  BOOST_TEST(outcome.complete);
  BOOST_TEST((outcome.answers == std::vector{1, 2, 3}));
}

BOOST_AUTO_TEST_CASE(survey_that_loses_patience_has_what_was_said_by_then) {
  const Survey<int>::Form filled_in = survey.form();
  filled_in.add(1);
  const auto outcome = survey.wait(1ms);
  BOOST_TEST(!outcome.complete);
  BOOST_TEST((outcome.answers == std::vector{1}));
  filled_in.add(2);  // too late: nobody reads it
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail

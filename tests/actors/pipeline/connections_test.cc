#include "actors/pipeline/connections.h"

#include <boost/test/unit_test.hpp>

#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/expect_throw.h"

namespace troupe::detail {
BOOST_AUTO_TEST_SUITE(connections)

namespace {

using boost::unit_test::label;
using Texts = std::vector<std::string>;
using Sources = std::vector<std::vector<SkipSource>>;

StageShape stage(Texts parameters, Texts results, Texts stash = {}, Texts pop = {}) {
  return {"w", std::move(parameters), std::move(results), std::move(stash), std::move(pop)};
}

void expect_refused(const std::vector<StageShape>& stages, const std::string& why) {
  testing::expect_throw<std::invalid_argument>([&] { static_cast<void>(connect(stages, {"v"}, {"v"})); },
                                               "[Pipeline] " + why);
}

}  // namespace

BOOST_AUTO_TEST_CASE(popped_parameters_come_from_the_stages_that_stash_them, *label("H-15")) {
  const Sources sources = connect(
      {stage({"v"}, {"v", "a", "b"}, {"first", "second"}), stage({"v"}, {"v"}),
       stage({"v", "b"}, {"v", "c"}, {"third"}, {"second"}), stage({"v", "c", "a"}, {"v"}, {}, {"third", "first"})},
      {"v"}, {"v"});
  BOOST_TEST_REQUIRE(sources.size() == 4U);
  BOOST_TEST((sources[0].empty() && sources[1].empty()));
  BOOST_TEST((sources[2] == std::vector<SkipSource>{{0, 2}}));
  BOOST_TEST((sources[3] == std::vector<SkipSource>{{2, 1}, {0, 1}}));
}

BOOST_AUTO_TEST_CASE(names_that_are_not_stashed_once_and_popped_once_are_refused, *label("H-15")) {
  expect_refused({stage({"v"}, {"v", "a"}, {"x"}), stage({"v"}, {"v"})},
                 "\"x\", stashed by stage 0, is popped by no stage");
  expect_refused({stage({"v"}, {"v"}), stage({"v", "a"}, {"v"}, {}, {"x"})},
                 "stage 1 pops \"x\", which no earlier stage stashes");
  expect_refused({stage({"v", "a"}, {"v", "a"}, {"x"}, {"x"})}, "stage 0 pops \"x\", which no earlier stage stashes");
  expect_refused({stage({"v", "a"}, {"v"}, {}, {"x"}), stage({"v"}, {"v", "a"}, {"x"})},
                 "stage 0 pops \"x\", which no earlier stage stashes");
  expect_refused(
      {stage({"v"}, {"v", "a"}, {"x"}), stage({"v"}, {"v", "a"}, {"x"}), stage({"v", "a"}, {"v"}, {}, {"x"})},
      "\"x\" is stashed by stage 0 and by stage 1");
  expect_refused(
      {stage({"v"}, {"v", "a"}, {"x"}), stage({"v", "a"}, {"v"}, {}, {"x"}), stage({"v", "a"}, {"v"}, {}, {"x"})},
      "stage 2 pops \"x\", which was popped before");
  expect_refused({stage({"v"}, {"v", "a", "a"}, {"x", "x"}), stage({"v", "a"}, {"v"}, {}, {"x"})},
                 "\"x\" is stashed by stage 0 and by stage 0");
  expect_refused({stage({"v"}, {"v", "a"}, {"x"}), stage({"v", "b"}, {"v"}, {}, {"x"})},
                 "stage 1 pops \"x\" as b, stage 0 stashes a");
}

BOOST_AUTO_TEST_CASE(neighbours_that_do_not_fit_are_refused_with_both_sides_named) {
  expect_refused({}, "there are no stages");
  expect_refused({stage({"t"}, {"v"})}, "the pipeline gives (v), stage 0 on w takes (t)");
  expect_refused({stage({"v"}, {"t"})}, "stage 0 on w gives (t), the pipeline takes (v)");
  expect_refused({stage({"v"}, {"v", "v"}), stage({"v"}, {"v"})}, "stage 0 on w gives (v, v), stage 1 on w takes (v)");
  expect_refused({stage({"v"}, {"v"}, {"x"}), stage({"v"}, {"v"}, {}, {"x"})},
                 "stage 0 has 1 results, and 1 of them by name: none is left for its neighbour");
  expect_refused({stage({"v"}, {"v", "a"}, {"x"}), stage({"a"}, {"v"}, {}, {"x"})},
                 "stage 1 has 1 parameters, and 1 of them by name: none is left for its neighbour");
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::detail

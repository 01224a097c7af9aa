#include "samples/a3c/school.h"

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdint>
#include <vector>

#include "node/local_cluster.h"
#include "node/sim/world.h"
#include "tensor/tensor.h"
#include "tests/support/temporary_directory.h"

BOOST_AUTO_TEST_SUITE(school)

namespace {

using namespace std::chrono_literals;
using samples::Graduation;
using troupe::NodeName;
using troupe::same_bytes;

const std::vector<NodeName> kPlayers{"player0", "player1", "player2"};

/// A whole course in a simulated world, whose messages take their time.
struct Simulated {
  Graduation end;
  std::uint64_t trace = 0;

  explicit Simulated(std::uint64_t seed) {
    troupe::sim::World world({.seed = seed, .link = {.drop = 0.02, .reorder = 0.1, .delay_mean = 2ms}},
                             {"learner", "player0", "player1", "player2"}, samples::school_functions());
    end = world
              .on("learner",
                  [](troupe::Node& node) { return samples::learn(node, kPlayers, {.seed = 1, .lessons_max = 60}); })
              .get();
    trace = world.trace_hash();
  }
};

bool same(const Graduation& a, const Graduation& b) {
  for (std::size_t i = 0; i < a.weights.size(); ++i) {
    if (!same_bytes(a.weights[i], b.weights.at(i))) return false;
  }
  return a.standing.episodes == b.standing.episodes;
}

}  // namespace

BOOST_AUTO_TEST_CASE(one_player_learns_bit_for_bit_as_in_one_process, *boost::unit_test::label("scenario-D9")) {
  troupe::LocalCluster cluster({"learner", "player0"}, samples::school_functions());
  const Graduation apart = samples::learn(cluster.node("learner"), {"player0"}, {.seed = 1, .lessons_max = 100});
  BOOST_TEST(apart.standing.lessons == 100);
  BOOST_TEST(same(apart, samples::learn_here(1, 100)));
}

BOOST_AUTO_TEST_CASE(a_course_in_terms_that_are_saved_is_the_same) {
  const troupe::testing::TemporaryDirectory directory;
  troupe::LocalCluster cluster({"learner", "player0"}, samples::school_functions());
  const samples::CourseSettings settings{
      .seed = 1, .lessons_max = samples::kTerm + 50, .saves = {.directory = (directory.path() / "run").string()}};
  const Graduation saved = samples::learn(cluster.node("learner"), {"player0"}, settings);
  BOOST_TEST(same(saved, samples::learn_here(1, samples::kTerm + 50)));
}

BOOST_AUTO_TEST_CASE(a_course_of_several_players_replays_bit_for_bit_in_the_simulator,
                     *boost::unit_test::label("scenario-D9")) {
  const Simulated first(7);
  const Simulated again(7);
  BOOST_TEST(first.trace == again.trace);
  BOOST_TEST(same(first.end, again.end));
  // In another world lessons arrive in another order.
  BOOST_TEST(!same(first.end, Simulated(8).end));
}

BOOST_AUTO_TEST_SUITE_END()

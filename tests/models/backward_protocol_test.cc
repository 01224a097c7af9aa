// Proof of the distributed backward pass: a BackwardTracker on each node, over every order of events of small graphs.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <vector>

#include "tests/models/backward_world.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(backward_protocol)

namespace {

// A -> B: the result of a call, and its argument on the way back.
const std::vector<ModelBoundary> kChain{{'1', 'A', 'B', "*"}, {'2', 'B', 'A', "1"}};
// A -> B -> C -> D: the root learns of C and D only from the answers to its marks.
const std::vector<ModelBoundary> kDeep{{'1', 'A', 'B', "*"}, {'2', 'B', 'C', "1"}, {'3', 'C', 'D', "2"}};
// Two calls, to B and C, whose results meet at A. Both take the same argument of A.
const std::vector<ModelBoundary> kDiamond{
    {'1', 'A', 'B', "*"}, {'2', 'A', 'C', "*"}, {'3', 'B', 'A', "1"}, {'4', 'C', 'A', "2"}};
// A calls B, and B calls A. That call uses A's own parameters and B's argument.
const std::vector<ModelBoundary> kThereAndBack{
    {'1', 'A', 'B', "*"}, {'2', 'B', 'A', "1"}, {'3', 'A', 'B', "2"}, {'4', 'B', 'A', "13"}};
// A -> B -> C -> A -> B -> C, each time through different boundaries.
const std::vector<ModelBoundary> kCycle{
    {'1', 'A', 'B', "*"}, {'2', 'B', 'C', "1"}, {'3', 'C', 'A', "2"}, {'4', 'A', 'B', "3"}, {'5', 'B', 'C', "4"}};
// The result of the call to C takes no part in the differentiation.
const std::vector<ModelBoundary> kUnused{
    {'1', 'A', 'B', "*"}, {'2', 'B', 'A', "1"}, {'3', 'A', 'C', ""}, {'4', 'C', 'A', "3"}};
// A's root reaches B; the root on C reaches B and A.
const std::vector<ModelBoundary> kRemoteRoot{
    {'1', 'A', 'B', "*"}, {'2', 'C', 'B', "*"}, {'3', 'C', 'A', "*"}, {'4', 'B', 'A', "12"}};
// B and C are reached on several paths, at different times.
const std::vector<ModelBoundary> kMesh{{'1', 'A', 'B', "*"}, {'2', 'A', 'C', "*"},  {'3', 'B', 'C', "1"},
                                       {'4', 'C', 'B', "2"}, {'5', 'B', 'A', "14"}, {'6', 'C', 'A', "3"}};
// A calls itself, and further down B calls itself.
const std::vector<ModelBoundary> kSelfCalls{
    {'1', 'A', 'A', "*"}, {'2', 'A', 'B', "1"}, {'3', 'B', 'B', "2"}, {'4', 'B', 'A', "3"}};

PassExploration prove(const Pass& pass) {
  const PassExploration seen = explore(pass);
  BOOST_TEST_MESSAGE(seen.states << " states, " << seen.ends << " ends, " << seen.completed << " completed, "
                                 << seen.failed << " failed, " << seen.reengaged << " engaged again, " << seen.repeated
                                 << " repeated");
  return seen;
}

const std::vector<const std::vector<ModelBoundary>*> kWithOneRoot{&kChain, &kDeep,   &kDiamond, &kThereAndBack,
                                                                  &kCycle, &kUnused, &kMesh,    &kSelfCalls};

void completes_always(Pass pass) {
  const auto seen = prove(pass);
  BOOST_TEST(seen.completed > 0U);
  BOOST_TEST(seen.failed == 0U);
  BOOST_TEST(seen.repeated == 0U);
  pass.slow_walks = true;
  BOOST_TEST(prove(pass).failed == 0U);
  pass.slow_walks = false;
  pass.duplicates = 1;
  BOOST_TEST(prove(pass).failed == 0U);
}

void fails_everywhere_or_nowhere(Pass pass) {
  pass.mortal = "ABCD";
  std::erase_if(pass.mortal, [&](char node) {
    const auto is_on = [&](const ModelBoundary& edge) { return edge.recv == node || edge.send == node; };
    return std::none_of(pass.graph.begin(), pass.graph.end(), is_on);
  });
  const auto seen = prove(pass);
  BOOST_TEST(seen.completed > 0U);
  BOOST_TEST(seen.failed > 0U);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_chain_completes_in_every_order) { completes_always({.graph = kChain}); }
BOOST_AUTO_TEST_CASE(a_deep_chain_completes_in_every_order) { completes_always({.graph = kDeep}); }
BOOST_AUTO_TEST_CASE(a_diamond_completes_in_every_order) { completes_always({.graph = kDiamond}); }
BOOST_AUTO_TEST_CASE(there_and_back_completes_in_every_order) { completes_always({.graph = kThereAndBack}); }
BOOST_AUTO_TEST_CASE(a_cycle_of_nodes_completes_in_every_order) { completes_always({.graph = kCycle}); }
BOOST_AUTO_TEST_CASE(a_mesh_completes_in_every_order) { completes_always({.graph = kMesh}); }
BOOST_AUTO_TEST_CASE(calls_to_oneself_complete_in_every_order) { completes_always({.graph = kSelfCalls}); }

BOOST_AUTO_TEST_CASE(an_unused_result_takes_no_part, *boost::unit_test::label("B-09")) {
  completes_always({.graph = kUnused});
}

BOOST_AUTO_TEST_CASE(two_roots_of_which_one_is_remote_complete_in_every_order, *boost::unit_test::label("B-10")) {
  completes_always({.graph = kRemoteRoot, .remote_roots = "C"});
}

BOOST_AUTO_TEST_CASE(a_node_is_engaged_again_after_it_answered) { BOOST_TEST(prove({.graph = kMesh}).reengaged > 0U); }

BOOST_AUTO_TEST_CASE(a_repeated_gradient_is_not_taken_twice) {
  BOOST_TEST(prove({.graph = kDiamond, .duplicates = 1}).repeated > 0U);
}

BOOST_AUTO_TEST_CASE(a_death_at_any_point_fails_all_that_take_part, *boost::unit_test::label("B-18")) {
  for (const auto* graph : {&kChain, &kDeep, &kDiamond, &kThereAndBack, &kCycle, &kUnused}) {
    fails_everywhere_or_nowhere({.graph = *graph});
  }
  fails_everywhere_or_nowhere({.graph = kRemoteRoot, .remote_roots = "C"});
  fails_everywhere_or_nowhere({.graph = kRemoteRoot, .remote_roots = "C", .slow_walks = true});
}

BOOST_AUTO_TEST_CASE(a_pass_whose_root_knows_its_boundaries_completes_in_every_order_without_a_mark) {
  for (const auto* graph : kWithOneRoot) {
    for (const int duplicates : {0, 1}) {
      const auto seen = prove({.graph = *graph, .duplicates = duplicates, .on_route = true});
      BOOST_TEST(seen.completed > 0U);
      BOOST_TEST(seen.failed == 0U);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_death_at_any_point_of_a_pass_without_marks_fails_all_that_take_part,
                     *boost::unit_test::label("B-18")) {
  for (const auto* graph : kWithOneRoot) fails_everywhere_or_nowhere({.graph = *graph, .on_route = true});
  BOOST_TEST(prove({.graph = kChain, .duplicates = 1, .mortal = "AB", .on_route = true}).failed > 0U);
  const auto seen = prove({.graph = kCycle, .throws = 'B', .on_route = true});
  BOOST_TEST(seen.failed > 0U);
  BOOST_TEST(seen.completed == 0U);
}

BOOST_AUTO_TEST_CASE(a_death_while_a_word_is_repeated_fails_all_that_take_part) {
  BOOST_TEST(prove({.graph = kChain, .duplicates = 1, .mortal = "AB"}).failed > 0U);
}

BOOST_AUTO_TEST_CASE(a_failing_function_fails_all_that_take_part, *boost::unit_test::label("B-16")) {
  const auto seen = prove({.graph = kCycle, .throws = 'B'});
  BOOST_TEST(seen.failed > 0U);
  BOOST_TEST(seen.completed == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing

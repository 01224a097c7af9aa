#include "actors/contexts/backward_tracker.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <ostream>

#include "tests/actors/backward_world.h"

namespace troupe {

using namespace backward_actions;
using Phase = BackwardTracker::Phase;

static std::ostream& operator<<(std::ostream& out, BackwardTracker::Phase phase) { return out << static_cast<int>(phase); }

namespace {

const PassId kPass{"trainer", 1, 4};
const BoundaryId kFirst{"trainer", 1, 1};
const BoundaryId kSecond{"trainer", 1, 2};
const BoundaryId kBack{"ps", 1, 1};

Error error_of(ErrorCode code, const NodeName& peer) {
  Error error;
  error.code = code;
  error.peer = peer;
  return error;
}

// The text of the only action, which must be Refused.
std::string refusal(const Actions& actions) {
  BOOST_TEST_REQUIRE(actions.size() == 1U);
  BOOST_TEST_REQUIRE(std::holds_alternative<Refused>(actions.front()));
  BOOST_TEST((std::get<Refused>(actions.front()).error.code == ErrorCode::protocol_violation));
  return std::get<Refused>(actions.front()).error.message;
}

void expect(const Actions& got, const Actions& wanted) { BOOST_TEST((got == wanted), "other actions than expected"); }

// The server, marked by the trainer through two boundaries, not yet running.
BackwardTracker marked_server() {
  BackwardTracker server(kPass, "ps");
  expect(server.mark("trainer", 7, {kFirst, kSecond}, false), {Walk{{kFirst, kSecond}, false}});
  expect(server.walked({}), {AnswerMark{"trainer", 7, {"ps"}}});
  return server;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(backward_tracker)

BOOST_AUTO_TEST_CASE(a_pass_without_boundaries_completes_on_its_root, *boost::unit_test::label("B-13")) {
  BackwardTracker root(kPass, "trainer");
  expect(root.start({}), {Walk{{}, true}});
  expect(root.walked({}), {Run{}});
  expect(root.finished(), {Complete{}});
  BOOST_TEST(root.phase() == Phase::complete);
}

BOOST_AUTO_TEST_CASE(a_call_is_marked_run_and_reported) {
  BackwardTracker root(kPass, "trainer");
  BackwardTracker server(kPass, "ps");
  expect(root.start({}), {Walk{{}, true}});
  expect(root.walked({{"ps", {kBack}}}), {SendMark{"ps", 1, {kBack}, false}});
  expect(server.mark("trainer", 1, {kBack}, false), {Walk{{kBack}, false}});
  expect(server.walked({{"trainer", {kFirst}}}), {SendMark{"trainer", 1, {kFirst}, false}});
  expect(root.mark("ps", 1, {kFirst}, false), {Walk{{kFirst}, false}});
  expect(root.walked({}), {AnswerMark{"ps", 1, {}}});
  expect(server.mark_answered(1, {}), {AnswerMark{"trainer", 1, {"ps"}}});
  expect(root.mark_answered(1, {"ps"}), {Run{}});
  expect(server.gradient("trainer", kBack), {Accept{kBack}});
  expect(server.finished(), {SendFinished{"trainer"}});
  expect(root.gradient("ps", kFirst), {Accept{kFirst}});
  expect(root.finished(), {});
  BOOST_TEST(root.unfinished() == std::set<NodeName>{"ps"}, boost::test_tools::per_element());
  expect(root.reported("ps"), {Complete{}});
}

BOOST_AUTO_TEST_CASE(a_node_with_roots_of_its_own_is_told_to_run) {
  BackwardTracker root(kPass, "trainer");
  BackwardTracker server(kPass, "ps");
  expect(root.start({"ps"}), {SendMark{"ps", 1, {}, true}, Walk{{}, true}});
  expect(root.walked({}), {});
  expect(server.mark("trainer", 1, {}, true), {Walk{{}, true}});
  expect(server.walked({}), {AnswerMark{"trainer", 1, {"ps"}}});
  expect(root.mark_answered(1, {"ps"}), {SendRun{"ps"}, Run{}});
  expect(server.run(), {Run{}});
  expect(server.run(), {});
  expect(server.finished(), {SendFinished{"trainer"}});
}

BOOST_AUTO_TEST_CASE(a_mark_that_does_not_engage_is_answered_when_its_walk_is_done) {
  BackwardTracker server(kPass, "ps");
  expect(server.mark("trainer", 1, {kFirst}, false), {Walk{{kFirst}, false}});
  expect(server.walked({{"trainer", {kBack}}}), {SendMark{"trainer", 1, {kBack}, false}});
  expect(server.mark("trainer", 2, {kSecond}, false), {Walk{{kSecond}, false}});
  expect(server.walked({}), {AnswerMark{"trainer", 2, {}}});
  expect(server.mark_answered(1, {}), {AnswerMark{"trainer", 1, {"ps"}}});
}

BOOST_AUTO_TEST_CASE(a_node_marked_again_is_engaged_again) {
  BackwardTracker server = marked_server();
  expect(server.mark("other", 1, {kBack}, false), {Walk{{kBack}, false}});
  BOOST_TEST(server.phase() == Phase::marking);
  expect(server.walked({}), {AnswerMark{"other", 1, {"ps"}}});
  BOOST_TEST(server.phase() == Phase::marked);
}

BOOST_AUTO_TEST_CASE(a_repeated_mark_and_a_repeated_answer_change_nothing) {
  BackwardTracker server = marked_server();
  const std::string before = server.text();
  expect(server.mark("trainer", 7, {kFirst, kSecond}, false), {});
  expect(server.mark_answered(9, {"elsewhere"}), {});
  BOOST_TEST(server.text() == before);
}

BOOST_AUTO_TEST_CASE(gradients_for_an_unmarked_boundary_are_refused) {
  BackwardTracker server = marked_server();
  BOOST_TEST(refusal(server.gradient("trainer", kBack)) ==
             "backward pass trainer.4: gradients for boundary ps.1, which takes no part");
  BackwardTracker untouched(kPass, "ps");
  BOOST_TEST(refusal(untouched.gradient("trainer", kFirst)) ==
             "backward pass trainer.4: gradients for boundary trainer.1, which takes no part");
  BOOST_TEST(untouched.phase() == Phase::idle);
}

BOOST_AUTO_TEST_CASE(gradients_are_refused_from_a_node_that_did_not_mark_them) {
  BackwardTracker server = marked_server();
  BOOST_TEST(refusal(server.gradient("other", kFirst)) ==
             "backward pass trainer.4: gradients for boundary trainer.1 of another node");
}

BOOST_AUTO_TEST_CASE(repeated_gradients_and_those_of_a_failed_pass_are_dropped) {
  BackwardTracker server = marked_server();
  expect(server.gradient("trainer", kFirst), {Accept{kFirst}});
  expect(server.gradient("trainer", kFirst), {});
  (void)server.fail(error_of(ErrorCode::peer_down, "other"));
  expect(server.gradient("trainer", kSecond), {});
}

BOOST_AUTO_TEST_CASE(gradients_before_the_marks_below_are_answered_are_refused) {
  BackwardTracker server(kPass, "ps");
  expect(server.mark("trainer", 1, {kFirst}, false), {Walk{{kFirst}, false}});
  expect(server.walked({{"trainer", {kBack}}}), {SendMark{"trainer", 1, {kBack}, false}});
  BOOST_TEST(refusal(server.gradient("trainer", kFirst)) ==
             "backward pass trainer.4: gradients before marking was complete");
}

BOOST_AUTO_TEST_CASE(a_new_mark_after_gradients_flowed_is_refused) {
  BackwardTracker server = marked_server();
  expect(server.gradient("trainer", kFirst), {Accept{kFirst}});
  BOOST_TEST(refusal(server.mark("trainer", 8, {kBack}, false)) ==
             "backward pass trainer.4: a boundary was marked after marking was complete");
}

BOOST_AUTO_TEST_CASE(a_boundary_is_marked_by_one_node_only) {
  BackwardTracker server = marked_server();
  BOOST_TEST(refusal(server.mark("other", 1, {kFirst}, false)) ==
             "backward pass trainer.4: boundary trainer.1 was marked by another node");
}

BOOST_AUTO_TEST_CASE(a_node_does_not_finish_with_gradients_outstanding) {
  BackwardTracker server = marked_server();
  expect(server.gradient("trainer", kFirst), {Accept{kFirst}});
  BOOST_TEST(refusal(server.finished()) == "backward pass trainer.4: finished with gradients outstanding");
}

BOOST_AUTO_TEST_CASE(a_report_from_a_node_that_takes_no_part_is_refused) {
  BackwardTracker root(kPass, "trainer");
  expect(root.start({}), {Walk{{}, true}});
  expect(root.walked({}), {Run{}});
  BOOST_TEST(refusal(root.reported("stranger")) == "backward pass trainer.4: finished without taking part");
}

BOOST_AUTO_TEST_CASE(only_the_creator_starts_a_pass_and_only_once) {
  BackwardTracker server(kPass, "ps");
  BOOST_TEST(refusal(server.start({})) == "backward pass trainer.4: a pass is started once, by its creator");
  BackwardTracker root(kPass, "trainer");
  expect(root.start({}), {Walk{{}, true}});
  BOOST_TEST(refusal(root.start({})) == "backward pass trainer.4: a pass is started once, by its creator");
}

BOOST_AUTO_TEST_CASE(the_first_failure_is_told_once_to_all_concerned) {
  BackwardTracker server = marked_server();
  const Error first = error_of(ErrorCode::remote_exception, "ps");
  expect(server.fail(first), {SendFailed{"trainer", first}, Failed{first}});
  expect(server.fail(error_of(ErrorCode::peer_down, "trainer")), {});
  expect(server.node_down("trainer", error_of(ErrorCode::peer_down, "trainer")), {});
  expect(server.mark("late", 3, {kBack}, false), {SendFailed{"late", first}});
  expect(server.finished(), {});
  BOOST_TEST((server.failure()->code == ErrorCode::remote_exception));
}

BOOST_AUTO_TEST_CASE(the_root_is_told_of_a_failure_without_a_detour) {
  BackwardTracker server(kPass, "ps");
  expect(server.mark("other", 1, {kFirst}, false), {Walk{{kFirst}, false}});
  const Error error = error_of(ErrorCode::remote_exception, "ps");
  expect(server.fail(error), {SendFailed{"other", error}, SendFailed{"trainer", error}, Failed{error}});
}

BOOST_AUTO_TEST_CASE(the_death_of_a_node_that_takes_no_part_is_ignored) {
  BackwardTracker server = marked_server();
  expect(server.node_down("stranger", error_of(ErrorCode::peer_down, "stranger")), {});
  BackwardTracker untouched(kPass, "ps");
  expect(untouched.node_down("trainer", error_of(ErrorCode::peer_down, "trainer")), {});
  BOOST_TEST(untouched.phase() == Phase::idle);
}

BOOST_AUTO_TEST_CASE(a_complete_pass_stays_complete) {
  BackwardTracker root(kPass, "trainer");
  expect(root.start({}), {Walk{{}, true}});
  expect(root.walked({}), {Run{}});
  expect(root.finished(), {Complete{}});
  expect(root.fail(error_of(ErrorCode::peer_down, "ps")), {});
  BOOST_TEST(root.phase() == Phase::complete);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe

namespace troupe::testing {
namespace {

// A -> B: the result of a call, and its argument back.
const std::vector<ModelBoundary> kChain{{'1', 'A', 'B', "*"}, {'2', 'B', 'A', "1"}};
// A -> B -> C -> D: the root hears of C and D only through the answers to its marks.
const std::vector<ModelBoundary> kDeep{{'1', 'A', 'B', "*"}, {'2', 'B', 'C', "1"}, {'3', 'C', 'D', "2"}};
// Two calls to B and C whose results meet at A, both fed by one argument of A's.
const std::vector<ModelBoundary> kDiamond{{'1', 'A', 'B', "*"}, {'2', 'A', 'C', "*"}, {'3', 'B', 'A', "1"}, {'4', 'C', 'A', "2"}};
// A calls B, which calls A, which uses its own parameters and B's argument.
const std::vector<ModelBoundary> kThereAndBack{{'1', 'A', 'B', "*"}, {'2', 'B', 'A', "1"}, {'3', 'A', 'B', "2"}, {'4', 'B', 'A', "13"}};
// A -> B -> C -> A -> B -> C, each time through other boundaries.
const std::vector<ModelBoundary> kCycle{{'1', 'A', 'B', "*"}, {'2', 'B', 'C', "1"}, {'3', 'C', 'A', "2"}, {'4', 'A', 'B', "3"}, {'5', 'B', 'C', "4"}};
// The result of the call to C is used by nothing that is differentiated.
const std::vector<ModelBoundary> kUnused{{'1', 'A', 'B', "*"}, {'2', 'B', 'A', "1"}, {'3', 'A', 'C', ""}, {'4', 'C', 'A', "3"}};
// A's root reaches B; the root on C reaches B and A.
const std::vector<ModelBoundary> kRemoteRoot{{'1', 'A', 'B', "*"}, {'2', 'C', 'B', "*"}, {'3', 'C', 'A', "*"}, {'4', 'B', 'A', "12"}};
// B and C are reached on several ways, at different times.
const std::vector<ModelBoundary> kMesh{{'1', 'A', 'B', "*"}, {'2', 'A', 'C', "*"}, {'3', 'B', 'C', "1"}, {'4', 'C', 'B', "2"}, {'5', 'B', 'A', "14"}, {'6', 'C', 'A', "3"}};
// A calls itself, and B calls itself below.
const std::vector<ModelBoundary> kSelfCalls{{'1', 'A', 'A', "*"}, {'2', 'A', 'B', "1"}, {'3', 'B', 'B', "2"}, {'4', 'B', 'A', "3"}};

PassExploration prove(const Pass& pass) {
  const PassExploration seen = explore(pass);
  BOOST_TEST_MESSAGE(seen.states << " states, " << seen.ends << " ends, " << seen.completed << " completed, " << seen.failed
                                 << " failed, " << seen.reengaged << " engaged again, " << seen.repeated << " repeated");
  return seen;
}

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

BOOST_AUTO_TEST_SUITE(backward_pass)

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

BOOST_AUTO_TEST_CASE(a_node_is_engaged_again_after_it_answered) {
  BOOST_TEST(prove({.graph = kMesh}).reengaged > 0U);
}

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

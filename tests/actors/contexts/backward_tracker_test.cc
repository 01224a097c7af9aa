#include "actors/contexts/backward_tracker.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <ostream>

namespace troupe {

using namespace backward_actions;
using Phase = BackwardTracker::Phase;

static std::ostream& operator<<(std::ostream& out, BackwardTracker::Phase phase) {
  return out << static_cast<int>(phase);
}

BOOST_AUTO_TEST_SUITE(backward_tracker)

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

// Returns the text of the only action, which must be Refused.
std::string refusal(const Actions& actions) {
  BOOST_TEST_REQUIRE(actions.size() == 1U);
  BOOST_TEST_REQUIRE(std::holds_alternative<Refused>(actions.front()));
  BOOST_TEST((std::get<Refused>(actions.front()).error.code == ErrorCode::protocol_violation));
  return std::get<Refused>(actions.front()).error.message;
}

void expect(const Actions& got, const Actions& wanted) { BOOST_TEST((got == wanted), "other actions than expected"); }

// Returns the server's tracker, marked by the trainer through two boundaries, not yet running.
BackwardTracker marked_server() {
  BackwardTracker server(kPass, "ps");
  expect(server.mark("trainer", 7, {kFirst, kSecond}, false), {Walk{{kFirst, kSecond}, false}});
  expect(server.walked({}), {AnswerMark{"trainer", 7, {"ps"}}});
  return server;
}

}  // namespace

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
  BOOST_TEST(!root.others_have_finished());
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

BOOST_AUTO_TEST_CASE(a_pass_on_a_route_marks_nothing_and_its_participants_are_those_of_the_route) {
  const msg::RouteLegs route{{"ps", 1, "trainer", {1}}, {"trainer", 1, "ps", {1}}};
  BackwardTracker root(kPass, "trainer");
  BackwardTracker server(kPass, "ps");
  expect(root.start_on(route), {Walk{{kFirst}, true, {{kBack}}}, Run{}});
  BOOST_TEST(root.unfinished() == (std::set<NodeName>{"ps", "trainer"}), boost::test_tools::per_element());
  expect(server.route("trainer", route), {Walk{{kBack}, false, {{kFirst}}}});
  expect(server.route("trainer", route), {});
  expect(server.gradient("trainer", kBack), {Accept{kBack}});
  expect(server.finished(), {SendFinished{"trainer"}});
  BOOST_TEST(!root.others_have_finished());
  expect(root.reported("ps"), {});
  BOOST_TEST(root.others_have_finished());  // and the root has not
  expect(root.gradient("ps", kFirst), {Accept{kFirst}});
  expect(root.finished(), {Complete{}});
}

BOOST_AUTO_TEST_CASE(a_failure_on_a_route_is_told_to_all_of_it_by_those_that_have_heard_of_it) {
  BackwardTracker server(kPass, "ps");
  const Error error = error_of(ErrorCode::remote_exception, "ps");
  (void)server.route("trainer", {{"other", 1, "ps", {1}}, {"ps", 1, "trainer", {1}}});
  expect(server.fail(error), {SendFailed{"other", error}, SendFailed{"trainer", error}, Failed{error}});
  expect(server.route("trainer", {{"ps", 1, "trainer", {1}}}), {});
}

BOOST_AUTO_TEST_CASE(marks_and_other_routes_are_refused_in_a_pass_on_a_route_and_routes_in_one_that_was_marked) {
  const msg::RouteLegs route{{"ps", 1, "trainer", {1}}, {"trainer", 1, "ps", {1}}};
  BackwardTracker server(kPass, "ps");
  (void)server.route("trainer", route);
  BOOST_TEST(refusal(server.mark("trainer", 1, {kBack}, false)) ==
             "backward pass trainer.4: a mark for a pass that has a route");
  const std::string other = "backward pass trainer.4: another route than the one that the pass has";
  BOOST_TEST(refusal(server.route("trainer", {{"ps", 1, "trainer", {1}}})) == other);
  BackwardTracker marked = marked_server();
  BOOST_TEST(refusal(marked.route("trainer", route)) == other);
  BackwardTracker root(kPass, "trainer");
  (void)root.start({});
  BOOST_TEST(refusal(root.route("ps", route)) == other);
  BOOST_TEST(refusal(root.start_on(route)) == "backward pass trainer.4: a pass is started once, by its creator");
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

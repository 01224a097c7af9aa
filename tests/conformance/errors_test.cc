// Calls that fail: the error that the caller gets, and that it gets it at once.
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>
#include <vector>

#include "actors/core/node_core.h"
#include "tensor/create.h"
#include "tests/conformance/load_functions.h"
#include "tests/conformance/test_cluster.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using boost::unit_test::fixture;
using boost::unit_test::label;

BOOST_FIXTURE_TEST_SUITE(call_errors, OnSharedCluster, *fixture<SharedCluster>())

BOOST_AUTO_TEST_CASE(exception_arrives_with_type_text_node_and_function, *label("T-05") * label("fault-F32")) {
  const Error error = error_of([&] { return trainer.rpc_sync("p1", &throw_out_of_range); });
  BOOST_TEST(error.code == ErrorCode::remote_exception);
  BOOST_TEST(error.exception_type == "std::out_of_range");
  BOOST_TEST(error.message == "index 7 of 3");
  BOOST_TEST(error.peer == "p1");
  BOOST_TEST(error.operation == "rpc throw_out_of_range");
  BOOST_TEST(error.execution == Execution::yes);
}

BOOST_AUTO_TEST_CASE(exception_text_with_escapes_and_placeholders_arrives_unchanged, *label("T-06")) {
  const std::string text = "a {} {0} %s %% \"quoted\" 'it' \\n\nsecond line\ttab \xc3\xa9 {";
  const Error error = error_of([&] { return trainer.rpc_async("p1", &throw_text, text).get(), 0; });
  BOOST_TEST(error.message == text);
}

BOOST_AUTO_TEST_CASE(exception_text_of_a_megabyte_arrives_cut_and_says_so) {
  const std::string text(1'000'000, 'e');
  const Error error = error_of([&] { return trainer.rpc_async("p1", &throw_text, text).get(), 0; });
  BOOST_TEST(error.code == ErrorCode::remote_exception);
  BOOST_TEST(error.message.size() < text.size());
  BOOST_TEST(error.message.starts_with(std::string(60'000, 'e')));
  BOOST_TEST(!error.message.ends_with('e'), error.message.substr(error.message.size() - 60));
}

BOOST_AUTO_TEST_CASE(thrown_number_is_an_error_and_its_node_lives, *label("fault-F32")) {
  const Error error = error_of([&] { return trainer.rpc_sync("p1", &throw_number); });
  BOOST_TEST(error.code == ErrorCode::remote_exception);
  BOOST_TEST(error.exception_type == "int");
  BOOST_TEST(error.message == "an exception that is not a std::exception");
  BOOST_TEST(trainer.rpc_sync("p1", &square, 2) == 4);
}

BOOST_AUTO_TEST_CASE(exception_inside_a_nested_call_names_both_nodes_and_keeps_the_cause) {
  const Error error = error_of([&] { return trainer.rpc_sync("p1", &fail_on, "p2", "deep below"), 0; });
  BOOST_TEST(error.code == ErrorCode::remote_exception);
  BOOST_TEST(error.peer == "p1");
  BOOST_TEST(error.operation == "rpc fail_on");
  BOOST_TEST(error.exception_type == "troupe::RemoteError");
  BOOST_TEST(error.cause == "rpc throw_text on p2: remote_exception: deep below (ran: yes)");
}

BOOST_AUTO_TEST_CASE(failed_future_throws_the_same_error_every_time, *label("R-09") * label("F-11")) {
  std::vector<Future<void>> futures;
  for (int i = 0; i < 20; ++i) futures.push_back(trainer.rpc_async("p1", &throw_text, std::to_string(i)));
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < futures.size(); ++i) {
      BOOST_TEST(error_of([&] { return futures[i].get(), 0; }).message == std::to_string(i));
      BOOST_TEST(futures[i].ready());
    }
  }
}

BOOST_AUTO_TEST_CASE(unknown_node_fails_at_once_and_says_who_is_known, *label("R-03") * label("T-07")) {
  const Error error = error_of([&] { return trainer.rpc_sync("p9", &square, 1); });
  BOOST_TEST(error.code == ErrorCode::not_joined);
  BOOST_TEST(error.peer == "p9");
  BOOST_TEST(error.execution == Execution::never);
  BOOST_TEST(error.hint == "known: p1, p2, p3, p4");
  const RRef<std::int64_t> never = trainer.remote("p9", &square, 1);
  BOOST_TEST(error_of([&] { return never.to_here(trainer); }).code == ErrorCode::not_joined);
  BOOST_TEST(error_of([&] { return trainer.rpc_sync(99, &square, 1); }).execution == Execution::never);
  const RRef<Counter> nowhere = trainer.remote("p9", constructor<Counter, std::int64_t>, 1);
  BOOST_CHECK_THROW(static_cast<void>(nowhere.to_here(trainer)), RemoteError);  // it has failed
  BOOST_TEST(error_of([&] { return nowhere.rpc_sync(trainer, &Counter::add, 1); }).operation ==
             "rpc Counter::add on " + nowhere.id().text());
}

BOOST_AUTO_TEST_CASE(function_that_only_the_caller_knows_is_refused_with_what_is_served, *label("R-26")) {
  const Error error = error_of([&] { return trainer.rpc_sync("p1", &only_on_trainer, 1); });
  BOOST_TEST(error.code == ErrorCode::no_such_function);
  BOOST_TEST(error.message == "\"only_on_trainer\" is not in the registry of p1");
  BOOST_TEST(error.hint.starts_with("it serves: "));
  BOOST_TEST(error.hint.find(", Counter, Counter::add, ") != std::string::npos);
  BOOST_TEST(error.execution == Execution::never);
}

BOOST_AUTO_TEST_CASE(function_that_the_caller_does_not_know_throws_there, *label("R-27")) {
  BOOST_CHECK_EXCEPTION(trainer.rpc_sync("p1", &disagree_elsewhere, "x"), std::invalid_argument, [](const auto& error) {
    const std::string_view text = error.what();
    return text.starts_with("[rpc] this callable, a long (*)(std::__cxx11::basic_string<char") &&
           text.find(", is not in the registry of trainer; registered: ") != std::string_view::npos &&
           text.ends_with(", write_first");
  });
}

BOOST_AUTO_TEST_CASE(function_with_other_parameters_there_is_refused_before_anything_is_read, *label("fault-F35")) {
  const Error error = error_of([&] { return trainer.rpc_sync("p1", &disagree_on_trainer, 1); });
  BOOST_TEST(error.code == ErrorCode::bad_argument);
  BOOST_TEST(error.message == "\"disagree\" has other parameter or result types on p1");
  BOOST_TEST(error.execution == Execution::never);
}

BOOST_AUTO_TEST_CASE(result_that_its_own_type_refuses_to_read_is_a_decode_error_every_time) {
  const Future<Unreadable> future = trainer.rpc_async("p1", &unreadable, 3);
  for (int round = 0; round < 2; ++round) {
    const Error error = error_of([&] { return future.get(); });
    BOOST_TEST(error.code == ErrorCode::decode);
    BOOST_TEST(error.message == "not today");
    BOOST_TEST(error.execution == Execution::yes);
  }
}

BOOST_AUTO_TEST_CASE(result_above_a_limit_is_refused_with_both_and_other_calls_go_on, *label("fault-F36")) {
  constexpr std::int64_t kMost = 65'536;
  const Future<std::int32_t> other = trainer.rpc_async("p1", &answer_after, 100);
  const Error result = error_of([&] { return trainer.rpc_sync("p1", &many_tensors, kMost + 1); });
  BOOST_TEST(result.code == ErrorCode::too_large);
  BOOST_TEST(result.execution == Execution::yes);
  BOOST_TEST(result.message == "[encode] tensors in a message: 65537, at most 65536");
  const Error argument = error_of([&] { return trainer.rpc_sync("p1", &echo_tensors, many_tensors(kMost + 1)); });
  BOOST_TEST(argument.code == ErrorCode::too_large);
  BOOST_TEST(argument.execution == Execution::never);
  BOOST_TEST(other.get() == 100);
  BOOST_TEST(trainer.rpc_sync("p1", &square, 3) == 9);
}

BOOST_AUTO_TEST_CASE(call_that_takes_longer_than_its_deadline_times_out, *label("T-01") * label("fault-F33")) {
  const auto begin = std::chrono::steady_clock::now();
  const Scope hasty = trainer.with({.deadline = 60ms});
  for (const Error& error : {error_of([&] { return hasty.rpc_sync("p1", &wait_until_stopped); }),
                             error_of([&] { return hasty.rpc_async("p1", &wait_until_stopped).get(); })}) {
    BOOST_TEST(error.code == ErrorCode::timeout);
    BOOST_TEST(error.message.starts_with("no answer within "));
    BOOST_TEST(error.peer == "p1");
    BOOST_TEST(error.operation == "rpc wait_until_stopped");
    BOOST_TEST(error.execution == Execution::maybe);
    BOOST_TEST(error.elapsed_us >= 55'000);
  }
  BOOST_TEST((std::chrono::steady_clock::now() - begin >= 120ms));
}

BOOST_AUTO_TEST_CASE(ten_calls_at_once_each_time_out, *label("T-04")) {
  std::vector<Future<bool>> futures;
  for (int i = 0; i < 10; ++i) futures.push_back(trainer.with({.deadline = 50ms}).rpc_async("p1", &wait_until_stopped));
  for (const auto& future : futures) BOOST_TEST(error_of([&] { return future.get(); }).code == ErrorCode::timeout);
}

BOOST_AUTO_TEST_CASE(call_to_oneself_times_out_too_and_is_told_to_stop) {
  const Error error =
      error_of([&] { return trainer.with({.deadline = 50ms}).rpc_sync("trainer", &wait_until_stopped); });
  BOOST_TEST(error.code == ErrorCode::timeout);
  // The fixture checks that the function, which would wait for 20 s, ends now.
}

BOOST_AUTO_TEST_CASE(late_answer_is_dropped_and_later_calls_work, *label("fault-F37")) {
  const Future<std::int32_t> late = trainer.with({.deadline = 20ms}).rpc_async("p1", &answer_after, 80);
  BOOST_TEST(error_of([&] { return late.get(); }).code == ErrorCode::timeout);
  BOOST_TEST(trainer.rpc_sync("p1", &answer_after, 100) == 100);  // the late answer has arrived by now
  BOOST_TEST(error_of([&] { return late.get(); }).code == ErrorCode::timeout);
}

BOOST_AUTO_TEST_CASE(deadline_that_has_passed_fails_before_anything_is_sent) {
  for (const Duration after : {Duration(0), Duration(-1s), Duration(1ns)}) {
    const Error error = error_of([&] { return trainer.with({.deadline = after}).rpc_sync("p1", &square, 1); });
    BOOST_TEST(error.code == ErrorCode::timeout);
  }
}

BOOST_AUTO_TEST_CASE(default_deadline_is_a_minute_and_each_call_overrides_it, *label("T-02")) {
  const auto by_default = trainer.rpc_sync("p1", &time_left_ms);
  BOOST_TEST(by_default.value() > 50'000);
  BOOST_TEST(by_default.value() <= 60'000);
  const auto shorter = trainer.with({.deadline = 5s}).rpc_sync("p1", &time_left_ms);
  BOOST_TEST(shorter.value() > 1'000);
  BOOST_TEST(shorter.value() <= 5'000);
  const auto longer = trainer.with({.deadline = std::chrono::hours(2)}).rpc_sync("p1", &time_left_ms);
  BOOST_TEST(longer.value() > 7'000'000);
  BOOST_TEST(!trainer.with({.deadline = Deadline::while_peer_lives()}).rpc_sync("p1", &time_left_ms).has_value());
}

BOOST_AUTO_TEST_CASE(nested_calls_inherit_what_is_left_of_the_deadline) {
  const auto left = trainer.with({.deadline = 5s}).rpc_sync("p1", &time_left_on, "p2");
  BOOST_TEST(left.value() > 1'000);
  BOOST_TEST(left.value() <= 5'000);
  // If the caller has no deadline, the nested call has its own.
  const auto own = trainer.with({.deadline = Deadline::while_peer_lives()}).rpc_sync("p1", &time_left_on, "p2");
  BOOST_TEST(own.value() > 50'000);
  BOOST_TEST(own.value() <= 60'000);
}

BOOST_AUTO_TEST_CASE(deadline_that_a_scope_was_given_is_read_from_it_and_holds_for_its_calls, *label("I-20")) {
  BOOST_TEST((trainer.time_left() == Duration(60s)));
  const Scope quick = trainer.with({.deadline = 7s});
  BOOST_TEST((quick.time_left() == Duration(7s)));
  const auto left = quick.rpc_sync("p1", &time_left_ms);
  BOOST_TEST(left.value() > 1'000);
  BOOST_TEST(left.value() <= 7'000);
  const Scope slower = quick.with({.deadline = 9s});  // a copy: the first scope does not change
  BOOST_TEST((slower.time_left() == Duration(9s)));
  BOOST_TEST(slower.rpc_sync("p1", &time_left_ms).value() > 7'000);
  BOOST_TEST((quick.time_left() == Duration(7s)));
  const Scope endless = quick.with({.deadline = Deadline::while_peer_lives()});
  BOOST_TEST(!endless.time_left().has_value());
  BOOST_TEST(!endless.rpc_sync("p1", &time_left_ms).has_value());
}

BOOST_AUTO_TEST_CASE(call_in_flight_keeps_its_deadline_when_others_are_made, *label("T-03")) {
  const Scope patient = trainer.with({.deadline = 10s});
  const Future<std::int32_t> slow = patient.rpc_async("p1", &answer_after, 100);
  BOOST_TEST((error_of([&] { return trainer.with({.deadline = 30ms}).rpc_sync("p1", &wait_until_stopped); }).code ==
              ErrorCode::timeout));
  BOOST_TEST(slow.get() == 100);
}

BOOST_AUTO_TEST_CASE(nested_function_stops_when_the_first_caller_gives_up) {
  const Error error = error_of([&] { return trainer.with({.deadline = 80ms}).rpc_sync("p1", &wait_on, "p2"); });
  // Either of the two may notice first.
  BOOST_TEST((error.code == ErrorCode::timeout || error.cause.starts_with("rpc wait_until_stopped on p2: timeout: ")),
             error.text());
  // The fixture checks that neither function continues, although the inner one would wait for 20 s.
}

BOOST_AUTO_TEST_CASE(member_function_stops_when_its_caller_gives_up) {
  const RRef<Counter> counter = trainer.remote("p1", constructor<Counter, std::int64_t>, 1);
  const Error error =
      error_of([&] { return counter.rpc_sync(trainer.with({.deadline = 50ms}), &Counter::wait_until_stopped); });
  BOOST_TEST(error.code == ErrorCode::timeout);
  BOOST_TEST(counter.rpc_sync(trainer, &Counter::value) == 1);  // the turn is free again
}

BOOST_AUTO_TEST_CASE(call_given_up_before_its_turn_does_not_run) {
  const RRef<Counter> counter = trainer.remote("p1", constructor<Counter, std::int64_t>, 0);
  const Future<void> busy = counter.rpc_async(trainer, &Counter::compute_for, 150);  // adds 1 at its end
  const Error error = error_of([&] { return counter.rpc_sync(trainer.with({.deadline = 20ms}), &Counter::add, 100); });
  BOOST_TEST(error.code == ErrorCode::timeout);
  busy.get();
  BOOST_TEST(counter.rpc_sync(trainer, &Counter::value) == 1);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(pending_and_later_calls_to_a_dead_node_fail_and_name_it, *label("fault-F12")) {
  TestCluster cluster({"p1", "p2"});
  Node& trainer = cluster.trainer();
  const Future<bool> pending = trainer.rpc_async("p1", &wait_until_stopped);
  const Future<bool> unlimited =
      trainer.with({.deadline = Deadline::while_peer_lives()}).rpc_async("p1", &wait_until_stopped);
  cluster.await_calls("p1", 2);
  const auto begin = std::chrono::steady_clock::now();
  cluster.kill("p1");
  for (const auto& future : {pending, unlimited}) {
    const Error error = error_of([&] { return future.get(); });
    BOOST_TEST(error.code == ErrorCode::peer_down);
    BOOST_TEST(error.peer == "p1");
    BOOST_TEST(error.operation == "rpc wait_until_stopped");
    BOOST_TEST(error.execution == Execution::maybe);
  }
  const Error later = error_of([&] { return trainer.rpc_sync("p1", &square, 1); });
  BOOST_TEST(later.code == ErrorCode::peer_down);
  BOOST_TEST(later.peer == "p1");
  BOOST_TEST(later.execution == Execution::never);
  BOOST_TEST((std::chrono::steady_clock::now() - begin < 3s));
  BOOST_TEST(trainer.rpc_sync("p2", &square, 3) == 9);
  cluster.expect_settled();
}

BOOST_AUTO_TEST_CASE(function_stops_when_its_caller_dies) {
  TestCluster cluster({"p1", "p2"});
  Node& trainer = cluster.trainer();
  const Future<bool> pending = trainer.rpc_async("p1", &wait_on, "p2");  // p1 waits for p2
  cluster.await_calls("p2", 1);
  cluster.kill("p1");
  BOOST_TEST(error_of([&] { return pending.get(); }).code == ErrorCode::peer_down);
  cluster.expect_settled();  // p2 does not wait for its 20 s
}

BOOST_AUTO_TEST_CASE(on_down_is_told_once_who_went_and_why) {
  TestCluster cluster({"p1", "p2"});
  Promise<std::pair<Peer, ErrorCode>> told(cluster.trainer().core().future_home());
  cluster.trainer().on_down([told](const Peer& peer, const Error& why) { told.complete(std::pair{peer, why.code}); });
  cluster.kill("p1");
  const auto [peer, code] = told.future().get();
  BOOST_TEST(peer.name == "p1");
  BOOST_TEST(code == ErrorCode::peer_down);
}

}  // namespace
}  // namespace troupe::testing

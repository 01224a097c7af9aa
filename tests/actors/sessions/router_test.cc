#include "actors/sessions/router.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/actors/sessions/router_pair.h"

namespace troupe::detail {
namespace {

using namespace std::chrono_literals;
using boost::unit_test::label;

BOOST_FIXTURE_TEST_SUITE(router, Pair)

BOOST_AUTO_TEST_CASE(request_arrives_and_its_answer_comes_back) {
  Answers answers;
  a.request(at(0ms), call_to("b"), into(answers));
  BOOST_TEST(a.pending == 1U);
  exchange(at(1ms));
  BOOST_REQUIRE(b.arrived.size() == 1U);
  BOOST_TEST(b.arrived[0].from == "a");
  BOOST_TEST(b.arrived[0].envelope.to == "b/worker");
  BOOST_TEST(b.arrived[0].message.get<msg::Call>().function_name == "project");
  BOOST_TEST((b.arrived[0].due == at(10s) + 1ms));  // the time left at sending, counted from the arrival
  b.answer(at(2ms), a.life(), b.arrived[0].envelope.request, msg::Reply{});
  exchange(at(3ms));
  BOOST_REQUIRE(answers.size() == 1U);
  BOOST_TEST(answers[0].value().holds<msg::Reply>());
  BOOST_TEST(a.pending == 0U);
}

BOOST_AUTO_TEST_CASE(answers_count_until_the_peer_has_taken_them) {
  Answers answers;
  a.request(at(0ms), call_to("b"), into(answers));
  exchange(at(1ms));
  b.answer(at(2ms), a.life(), b.arrived[0].envelope.request, msg::Reply{});
  Pair::move(b, a, at(3ms));
  BOOST_TEST(b.answers_taken_by["a"] == 0U);
  a.router.tick(at(30ms));  // acknowledges
  exchange(at(30ms));
  BOOST_TEST(b.answers_taken_by["a"] > 0U);
}

BOOST_AUTO_TEST_CASE(many_notifications_follow_the_first_in_one_packet) {
  const auto notify = [&](std::uint64_t fork) {
    a.notify(at(0ms), "b", {}, "references", msg::RRefDeleted{{}, {"a", 1, fork}}, Haste::follows);
  };
  notify(1);
  BOOST_TEST(a.wire.size() == 1U);
  for (std::uint64_t fork = 2; fork <= 4; ++fork) notify(fork);
  BOOST_TEST(a.wire.size() == 1U);
  exchange(at(1ms));
  BOOST_TEST(b.arrived.size() == 1U);
  BOOST_TEST((a.router.next_due() == at(20ms)));
  a.router.tick(at(20ms));
  BOOST_TEST(a.wire.size() == 1U);
  exchange(at(21ms));
  BOOST_REQUIRE(b.arrived.size() == 4U);
  for (std::uint64_t i = 0; i < 4; ++i) BOOST_TEST(b.arrived[i].message.get<msg::RRefDeleted>().fork.serial == i + 1);
}

BOOST_AUTO_TEST_CASE(what_waits_to_ride_leaves_before_the_goodbye) {
  a.notify(at(0ms), "b", {}, "references", msg::RRefDeleted{{}, {"a", 1, 1}}, Haste::rides);
  BOOST_TEST(a.wire.empty());
  a.router.stop(at(1ms), make_error(ErrorCode::shutting_down, "the end"));
  exchange(at(2ms));
  BOOST_TEST(b.arrived.size() == 1U);
}

BOOST_AUTO_TEST_CASE(failure_is_told_with_operation_peer_and_time) {
  Answers answers;
  a.request(at(0ms), call_to("b"), into(answers));
  exchange(at(1ms));
  Error error;
  error.code = ErrorCode::no_such_function;
  b.answer(at(2ms), a.life(), b.arrived[0].envelope.request, msg::Failure{error});
  exchange(at(5ms));
  BOOST_REQUIRE(answers.size() == 1U);
  BOOST_TEST((answers[0].error().code == ErrorCode::no_such_function));
  BOOST_TEST(answers[0].error().peer == "b");
  BOOST_TEST(answers[0].error().operation == "rpc project");
  BOOST_TEST(answers[0].error().elapsed_us == 5000);
}

BOOST_AUTO_TEST_CASE(second_answer_and_repeated_frames_are_ignored, *label("fault-F37")) {
  Answers answers;
  a.request(at(0ms), call_to("b"), into(answers));
  Pair::move(a, b, at(1ms));
  const RequestId request = b.arrived[0].envelope.request;
  b.answer(at(2ms), a.life(), request, msg::Reply{});
  b.answer(at(2ms), a.life(), request, msg::Reply{});
  const auto repeated = b.wire;
  exchange(at(3ms));
  for (const auto& [to, frames] : repeated) a.router.frames(at(4ms), "b", b.self.incarnation, frames);
  BOOST_TEST(answers.size() == 1U);
}

BOOST_AUTO_TEST_CASE(request_without_an_answer_times_out_and_the_peer_is_told, *label("fault-F33")) {
  Answers answers;
  a.request(at(0ms), call_to("b", at(50ms)), into(answers));
  exchange(at(1ms));
  BOOST_TEST((a.router.next_due().value() <= at(50ms)));
  a.router.tick(at(49ms));
  BOOST_TEST(answers.empty());
  a.router.tick(at(50ms));
  BOOST_REQUIRE(answers.size() == 1U);
  BOOST_TEST((answers[0].error().code == ErrorCode::timeout));
  BOOST_TEST(answers[0].error().message == "no answer within 50 ms");
  BOOST_TEST((answers[0].error().execution == Execution::maybe));
  exchange(at(51ms));
  BOOST_REQUIRE(b.arrived.size() == 2U);
  BOOST_TEST((b.arrived[1].message.get<msg::CallCancelled>().request == b.arrived[0].envelope.request));

  b.answer(at(60ms), a.life(), b.arrived[0].envelope.request, msg::Reply{});  // late
  exchange(at(61ms));
  BOOST_TEST(answers.size() == 1U);
  BOOST_TEST(a.events.back() == "late Reply from b");  // the answer may carry references
}

BOOST_AUTO_TEST_CASE(cancelled_request_ends_once_and_the_peer_is_told, *label("fault-F37")) {
  Answers answers;
  std::stop_source nobody, caller;
  Request request = call_to("b");
  request.cancelled_by = {nobody.get_token(), caller.get_token()};
  a.request(at(0ms), std::move(request), into(answers));
  exchange(at(1ms));
  const RequestId id = b.arrived[0].envelope.request;
  BOOST_TEST(a.to_cancel.empty());
  caller.request_stop();
  BOOST_REQUIRE(a.to_cancel.size() == 1U);
  BOOST_TEST((a.to_cancel[0] == id));
  a.router.cancel(at(2ms), id);
  BOOST_REQUIRE(answers.size() == 1U);
  BOOST_TEST((answers[0].error().code == ErrorCode::cancelled));
  BOOST_TEST(answers[0].error().peer == "b");
  BOOST_TEST(a.pending == 0U);
  b.answer(at(3ms), a.life(), id, msg::Reply{});
  exchange(at(4ms));
  BOOST_REQUIRE(b.arrived.size() == 2U);
  BOOST_TEST((b.arrived[1].message.get<msg::CallCancelled>().request == id));
  nobody.request_stop();
  a.router.cancel(at(5ms), id);
  BOOST_TEST(answers.size() == 1U);
  BOOST_TEST(a.to_cancel.size() == 1U);
}

BOOST_AUTO_TEST_CASE(deadline_that_has_passed_is_refused_unsent) {
  Answers answers;
  a.request(at(50ms), call_to("b", at(50ms)), into(answers));
  BOOST_REQUIRE(answers.size() == 1U);
  BOOST_TEST((answers[0].error().code == ErrorCode::timeout));
  BOOST_TEST((answers[0].error().execution == Execution::never));
  BOOST_TEST(a.wire.empty());
}

BOOST_AUTO_TEST_CASE(request_while_the_peer_lives_has_no_deadline) {
  Answers answers;
  a.request(at(0ms), call_to("b", std::nullopt), into(answers));
  exchange(at(1ms));
  BOOST_TEST(!b.arrived[0].due.has_value());
}

BOOST_AUTO_TEST_CASE(loss_of_the_peer_fails_what_waits_for_it_and_what_comes_later, *label("fault-F12")) {
  Answers answers;
  a.request(at(0ms), call_to("b"), into(answers));
  a.request(at(0ms), call_to("b", std::nullopt), into(answers));
  exchange(at(1ms));
  Error closed;
  closed.code = ErrorCode::peer_down;
  closed.message = "connection closed";
  a.router.link_down(at(2ms), "b", b.self.incarnation, closed);
  BOOST_REQUIRE(answers.size() == 2U);
  for (const auto& answer : answers) {
    BOOST_TEST((answer.error().code == ErrorCode::peer_down));
    BOOST_TEST(answer.error().peer == "b");
    BOOST_TEST(answer.error().endpoint == "memory://b");
    BOOST_TEST(answer.error().operation == "rpc project");
    BOOST_TEST((answer.error().execution == Execution::maybe));
  }
  BOOST_TEST(a.events.back() == "down b peer_down");
  a.request(at(3ms), call_to("b"), into(answers));
  BOOST_REQUIRE(answers.size() == 3U);
  BOOST_TEST((answers[2].error().code == ErrorCode::peer_down));
  BOOST_TEST((answers[2].error().execution == Execution::never));
}

BOOST_AUTO_TEST_CASE(request_that_never_left_certainly_did_not_run) {
  Answers answers;
  const std::size_t granted = SessionOptions{}.first_grants.calls;
  for (std::size_t i = 0; i <= granted; ++i) a.request(at(0ms), call_to("b"), into(answers));
  BOOST_TEST(a.wire.size() == granted);  // the last one waits for the peer's grant
  a.router.link_down(at(1ms), "b", b.self.incarnation, Error{});
  BOOST_REQUIRE(answers.size() == granted + 1);
  BOOST_TEST((answers.front().error().execution == Execution::maybe));
  BOOST_TEST((answers.back().error().execution == Execution::never));
}

BOOST_AUTO_TEST_CASE(call_that_times_out_before_it_left_says_never_and_what_it_waited_for) {
  Answers answers;
  const std::size_t granted = SessionOptions{}.first_grants.calls;
  for (std::size_t i = 0; i <= granted; ++i) a.request(at(0ms), call_to("b", at(5ms)), into(answers));
  a.router.tick(at(5ms));
  BOOST_REQUIRE(answers.size() == granted + 1);
  BOOST_TEST((answers.front().error().execution == Execution::maybe));
  BOOST_TEST((answers.back().error().execution == Execution::never));
  BOOST_TEST(answers.back().error().message == "no answer within 5 ms: it waited for b to start earlier calls");
  exchange(at(6ms));
  BOOST_TEST(std::ranges::count_if(b.arrived, [](const auto& one) {
               return one.message.template holds<msg::Call>();
             }) == static_cast<long>(granted));
}

BOOST_AUTO_TEST_CASE(calls_to_oneself_wait_until_earlier_ones_have_begun, *label("fault-F46")) {
  Answers answers;
  const std::size_t granted = SessionGrants{}.calls;
  for (std::size_t i = 0; i <= granted; ++i) a.request(at(0ms), call_to("a", at(5ms)), into(answers));
  BOOST_TEST(a.arrived.size() == granted);
  a.arrived.front().credit->begin();
  BOOST_REQUIRE(a.to_grant.size() == 1U);
  BOOST_TEST((a.to_grant[0] == a.life()));
  a.router.grant(at(1ms), a.life());
  BOOST_TEST(a.arrived.size() == granted + 1);
  a.request(at(2ms), call_to("a", at(3ms)), into(answers));
  a.router.tick(at(3ms));
  BOOST_REQUIRE(answers.size() == 1U);
  BOOST_TEST((answers[0].error().execution == Execution::never));
  BOOST_TEST(answers[0].error().message ==
             "no answer within 1 ms: it waited for this node to start earlier calls of its own");
  BOOST_TEST(a.loads.at("a").waiting_calls == 0U);
}

BOOST_AUTO_TEST_CASE(calls_to_oneself_beyond_what_may_wait_are_refused, *label("fault-F46")) {
  RouterOptions options;
  options.session.grants.calls = 2;
  options.session.waiting_calls_max = 3;
  TestNode alone("alone", 1, options);
  Answers answers;
  for (int i = 0; i < 5; ++i) alone.request(at(0ms), call_to("alone"), into(answers));
  BOOST_TEST(alone.arrived.size() == 2U);
  BOOST_TEST(answers.empty());
  BOOST_TEST(alone.loads.at("alone").waiting_calls == 3U);
  BOOST_TEST(alone.loads.at("alone").queued() == 2U);
  alone.request(at(0ms), call_to("alone"), into(answers));
  BOOST_REQUIRE(answers.size() == 1U);
  BOOST_TEST((answers[0].error().code == ErrorCode::resource_exhausted));
  BOOST_TEST((answers[0].error().execution == Execution::never));
  BOOST_TEST(answers[0].error().message ==
             "3 calls of this node to itself wait for earlier ones to start, at most 3 (peer.waiting_calls_max)");
  BOOST_TEST(alone.pending == 5U);
  alone.arrived.front().credit->begin();
  alone.router.grant(at(1ms), alone.life());
  BOOST_TEST(alone.loads.at("alone").waiting_calls == 2U);
  BOOST_TEST(alone.loads.at("alone").queued() == 2U);
}

BOOST_AUTO_TEST_CASE(call_to_oneself_whose_delivery_gets_no_memory_fails_while_another_is_made) {
  RouterOptions options;
  options.session.grants.calls = 1;
  TestNode alone("alone", 1, options);
  Answers waited;
  Answers others;
  alone.request(at(0ms), call_to("alone"), into(others));
  alone.request(at(0ms), call_to("alone"), into(waited));
  alone.arrived.front().credit->begin();
  alone.no_memory_for = RequestId{2};
  BOOST_CHECK_NO_THROW(alone.request(at(1ms), call_to("alone"), into(others)));
  BOOST_REQUIRE(waited.size() == 1U);
  BOOST_TEST((waited[0].error().code == ErrorCode::resource_exhausted));
  BOOST_TEST((waited[0].error().execution == Execution::maybe));
  BOOST_TEST(waited[0].error().operation == "rpc project");
  BOOST_TEST(others.empty());
  BOOST_REQUIRE(alone.arrived.size() == 2U);
  BOOST_TEST((alone.arrived[1].envelope.request == RequestId{3}));
  BOOST_TEST(alone.pending == 2U);
}

BOOST_AUTO_TEST_CASE(load_of_a_peer_is_told_when_it_changes, *label("fault-F06")) {
  Answers answers;
  const std::size_t granted = SessionOptions{}.first_grants.calls;
  for (std::size_t i = 0; i < granted + 3; ++i) a.request(at(0ms), call_to("b"), into(answers));
  BOOST_TEST(a.loads.at("b").waiting_calls == 3U);
  BOOST_TEST(a.loads.at("b").waiting_bytes > 0U);
  move(a, b, at(1ms));
  BOOST_TEST(b.loads.at("a").queued() == granted);
  b.arrived.front().credit->begin();
  BOOST_TEST(b.loads.at("a").queued() == granted - 1);
  exchange(at(1s));  // b has granted more by now
  BOOST_TEST(a.loads.at("b").waiting_calls == 0U);
  BOOST_TEST(a.loads.at("b").waiting_bytes == 0U);
  BOOST_TEST(b.loads.at("a").queued() == granted + 2);
}

BOOST_AUTO_TEST_CASE(what_is_due_is_found_without_looking_at_every_peer) {
  for (int i = 0; i < 300; ++i)
    a.router.link_up(at(0ms), {fmt::format("p{}", i), {100, static_cast<std::uint64_t>(i)}, "memory://p"});
  Answers answers;
  a.request(at(1ms), call_to("p7"), into(answers));
  a.request(at(2ms), call_to("p9"), into(answers));
  a.wire.clear();
  a.router.tick(at(201ms));
  BOOST_REQUIRE(std::ranges::count(a.wire, NodeName("p7"), [](const auto& sent) { return sent.first; }) > 0);
  a.wire.clear();
  a.router.tick(at(202ms));
  BOOST_TEST(std::ranges::count(a.wire, NodeName("p7"), [](const auto& sent) { return sent.first; }) == 0);
  BOOST_TEST(std::ranges::count(a.wire, NodeName("p9"), [](const auto& sent) { return sent.first; }) == 1);
}

BOOST_AUTO_TEST_CASE(stop_says_goodbye_and_answers_everything_once) {
  Answers answers;
  a.request(at(0ms), call_to("b"), into(answers));
  a.request(at(0ms), call_to("a"), into(answers));
  exchange(at(1ms));
  Error stopped;
  stopped.code = ErrorCode::shutting_down;
  a.router.stop(at(2ms), stopped);
  a.router.stop(at(2ms), stopped);
  BOOST_REQUIRE(answers.size() == 2U);
  BOOST_TEST((answers[0].error().code == ErrorCode::shutting_down));
  BOOST_TEST(a.pending == 0U);
  a.request(at(3ms), call_to("b"), into(answers));
  BOOST_TEST((answers.back().error().code == ErrorCode::shutting_down));
  Pair::move(a, b, at(3ms));
  BOOST_TEST(b.events.back() == "down a shutting_down");
}

BOOST_AUTO_TEST_CASE(unknown_node_is_refused_with_those_that_are_known, *label("R-03")) {
  Answers answers;
  a.request(at(0ms), call_to("c"), into(answers));
  BOOST_TEST((answers[0].error().code == ErrorCode::not_joined));
  BOOST_TEST(answers[0].error().hint == "known: b");
}

BOOST_AUTO_TEST_CASE(request_to_oneself_is_delivered_here_answered_here_and_cancelled_here) {
  Answers answers;
  a.request(at(0ms), call_to("a"), into(answers));
  a.request(at(0ms), call_to("a", at(5ms)), into(answers));
  BOOST_REQUIRE(a.arrived.size() == 2U);
  BOOST_TEST((a.arrived[1].due == at(5ms)));
  BOOST_TEST(a.wire.empty());
  a.answer(at(1ms), a.life(), a.arrived[0].envelope.request, msg::Reply{});
  BOOST_TEST(answers.size() == 1U);
  a.router.tick(at(5ms));
  BOOST_TEST((answers[1].error().code == ErrorCode::timeout));
  BOOST_TEST((a.arrived[2].message.get<msg::CallCancelled>().request == a.arrived[1].envelope.request));
}

BOOST_AUTO_TEST_CASE(answer_to_an_earlier_life_does_not_reach_its_successor, *label("fault-F15")) {
  Answers answers;
  a.request(at(0ms), call_to("b"), into(answers));
  exchange(at(1ms));
  const RequestId request = b.arrived[0].envelope.request;

  TestNode again("a", 9);  // restarted: its request has the same number
  again.router.link_up(at(2ms), b.self);
  b.router.link_up(at(2ms), again.self);
  BOOST_TEST(b.events.back() == "up a");
  Answers of_successor;
  again.request(at(3ms), call_to("b"), into(of_successor));
  Pair::move(again, b, at(3ms));
  BOOST_TEST((b.arrived[1].envelope.request == request));
  b.answer(at(4ms), a.life(), request, msg::Reply{});  // the first life's function has ended
  Pair::move(b, again, at(4ms));
  BOOST_TEST(of_successor.empty());
  b.answer(at(5ms), again.life(), request, msg::Reply{});
  Pair::move(b, again, at(5ms));
  BOOST_TEST(of_successor.size() == 1U);
}

BOOST_AUTO_TEST_CASE(notification_to_one_life_does_not_reach_its_successor, *label("fault-F15")) {
  b.notify(at(0ms), "a", Incarnation{9, 9}, "references", msg::RRefDeleted{});
  BOOST_TEST(b.wire.empty());
  b.notify(at(0ms), "a", a.self.incarnation, "references", msg::RRefDeleted{});
  b.notify(at(0ms), "a", std::nullopt, "references", msg::RRefDeleted{});
  exchange(at(1ms));
  BOOST_TEST(a.arrived.size() == 2U);
  BOOST_TEST(a.arrived[0].envelope.to == "a/references");
  BOOST_TEST(a.arrived[0].envelope.request.value == 0U);
}

BOOST_AUTO_TEST_CASE(restarted_peer_fails_what_its_former_life_was_asked, *label("fault-F15")) {
  Answers answers;
  a.request(at(0ms), call_to("b"), into(answers));
  a.router.link_up(at(1ms), {"b", {5, 5}, "memory://b"});
  BOOST_REQUIRE(answers.size() == 1U);
  BOOST_TEST((answers[0].error().code == ErrorCode::peer_restarted));
  BOOST_TEST((a.events == std::vector<std::string>{"up b", "down b peer_restarted", "up b"}));
}

BOOST_AUTO_TEST_CASE(request_about_one_life_does_not_reach_its_successor, *label("fault-F15")) {
  const auto about = [](Incarnation life) {
    Request request = call_to("b");
    request.life = life;
    return request;
  };
  Answers answers;
  a.router.link_up(at(1ms), {"b", {5, 5}, "memory://b"});
  a.request(at(2ms), about(b.self.incarnation), into(answers));
  BOOST_TEST(a.wire.empty());
  BOOST_REQUIRE(answers.size() == 1U);
  BOOST_TEST((answers[0].error().code == ErrorCode::peer_restarted));
  BOOST_TEST((answers[0].error().incarnation == b.self.incarnation));
  BOOST_TEST((answers[0].error().execution == Execution::never));
  a.request(at(2ms), about({5, 5}), into(answers));
  BOOST_TEST(a.wire.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_message_in_memory_of_an_earlier_life_is_not_sent_and_others_are_answered, *label("fault-F15")) {
  const std::vector<std::byte> tensor(8 << 20);
  const auto parcel_of = [&](const msg::AnyMessage& message, RequestId request) {
    Parcel parcel = pack_message({"a", "b/worker", request, {}}, message, {}).value();
    parcel.pieces[0].frames.push_back({.bytes = tensor, .owner = {}, .memory = FrameMemory::leased});
    parcel.shared_with = b.self.incarnation;
    return parcel;
  };
  TestNode next("b", 5);
  a.router.link_up(at(1ms), next.self);
  next.router.link_up(at(1ms), a.self);
  Answers answers;
  const RequestId id{++a.last_request};
  a.router.request(at(2ms), {call_to("b"), id, {}, parcel_of(msg::Call{}, id)}, into(answers));
  a.router.notify(at(2ms), "b", std::nullopt, parcel_of(msg::CallCancelled{}, {}));
  a.request(at(2ms), call_to("b"), into(answers));
  // As a link whose packets have bounds, and that leases nothing to this life.
  std::erase_if(a.wire, [](const auto& sent) {
    return std::ranges::any_of(sent.second, [](const Frame& frame) { return frame.bytes.size() > 4 << 20; });
  });
  Pair::move(a, next, at(3ms));
  BOOST_REQUIRE(next.arrived.size() == 1U);
  next.answer(at(3ms), a.life(), next.arrived[0].envelope.request, msg::Reply{});
  Pair::move(next, a, at(4ms));
  BOOST_REQUIRE(answers.size() == 2U);
  BOOST_TEST((answers[0].error().code == ErrorCode::peer_restarted));
  BOOST_TEST((answers[0].error().execution == Execution::never));
  BOOST_TEST(answers[1].value().holds<msg::Reply>());
}

BOOST_AUTO_TEST_CASE(life_before_the_last_is_not_let_in_again, *label("fault-F15")) {
  const Peer first = b.self;
  const Peer second{"b", {5, 5}, "memory://b"};
  a.router.link_up(at(1ms), second);
  a.router.link_down(at(2ms), "b", second.incarnation, Error{});
  a.router.link_up(at(3ms), {"b", {6, 6}, "memory://b"});
  a.events.clear();
  a.router.link_up(at(4ms), first);
  a.router.link_up(at(4ms), second);
  BOOST_TEST(a.events.size() == 2U);  // the present life stays up
  for (const std::string& event : a.events) BOOST_TEST(event.starts_with("give up b"));
}

BOOST_AUTO_TEST_CASE(table_of_lives_hears_of_a_death_before_anybody_else) {
  struct Asking final : NoCallbacks {
    explicit Asking(Lives& l) : lives(l) {}
    void peer_down(const Peer& peer, const Error& why) override {
      was_over = lives.is_over({peer.name, peer.incarnation}) && lives.why_over(peer.name)->code == why.code;
    }
    Lives& lives;
    bool was_over = false;
  };
  Lives lives;
  Asking asking(lives);
  Router router(a.self, asking, lives);
  router.link_up(at(0ms), b.self);
  Error closed;
  closed.code = ErrorCode::peer_down;
  router.link_down(at(1ms), "b", b.self.incarnation, closed);
  BOOST_TEST(asking.was_over);
}

BOOST_AUTO_TEST_CASE(call_that_times_out_while_its_peer_is_unreachable_says_so, *label("fault-F08")) {
  Answers answers;
  a.request(at(0ms), call_to("b", at(2s)), into(answers));
  a.request(at(0ms), call_to("b", at(4s)), into(answers));
  a.router.reach(at(1s), "b", b.self.incarnation, Reach::unreachable, 300ms);
  BOOST_TEST(answers.empty());  // no request ends while the peer may return
  a.router.tick(at(2s));
  BOOST_REQUIRE(answers.size() == 1U);
  BOOST_TEST(answers[0].error().message.ends_with(", b has been unreachable for 1.3 s"), answers[0].error().message);
  a.router.reach(at(3s), "b", b.self.incarnation, Reach::reachable, 2300ms);
  a.router.tick(at(4s));
  BOOST_REQUIRE(answers.size() == 2U);
  BOOST_TEST(answers[1].error().message.find("unreachable") == std::string::npos, answers[1].error().message);
}

BOOST_AUTO_TEST_CASE(call_that_does_not_wait_fails_once_its_peer_is_unreachable, *label("fault-F08")) {
  Answers waiting;
  Answers answers;
  a.request(at(0ms), call_to("b"), into(waiting));
  Request impatient = call_to("b");
  impatient.fails_if_unreachable = true;
  a.request(at(0ms), impatient, into(answers));
  a.router.reach(at(1s), "b", {9, 9}, Reach::unreachable, 300ms);  // another life
  BOOST_TEST(answers.empty());
  a.router.reach(at(1s), "b", b.self.incarnation, Reach::unreachable, 300ms);
  BOOST_REQUIRE(answers.size() == 1U);
  BOOST_TEST((answers[0].error().code == ErrorCode::peer_unreachable));
  BOOST_TEST(answers[0].error().message == "b has been unreachable for 0.3 s");
  BOOST_TEST((answers[0].error().execution == Execution::maybe));  // the request had left
  a.request(at(2s), impatient, into(answers));
  BOOST_REQUIRE(answers.size() == 2U);
  BOOST_TEST((answers[1].error().code == ErrorCode::peer_unreachable));
  BOOST_TEST(answers[1].error().message == "b has been unreachable for 1.3 s");
  BOOST_TEST(answers[1].error().hint.empty());
  BOOST_TEST((answers[1].error().execution == Execution::never));
  BOOST_TEST(waiting.empty());
  a.router.reach(at(3s), "b", b.self.incarnation, Reach::reachable, 2300ms);
  a.request(at(3s), impatient, into(answers));
  BOOST_TEST(answers.size() == 2U);  // it awaits its answer, as the first does
  BOOST_TEST(a.router.oldest(8).size() == 2U);
}

BOOST_AUTO_TEST_CASE(peer_that_the_link_judges_dead_is_lost_and_told_so_and_its_life_stays_over, *label("fault-F13")) {
  Answers answers;
  a.request(at(0ms), call_to("b"), into(answers));
  a.router.reach(at(1s), "b", {9, 9}, Reach::down, 10s);  // of another life
  a.router.reach(at(1s), "b", b.self.incarnation, Reach::unreachable, 300ms);
  BOOST_TEST(answers.empty());
  a.router.reach(at(10s), "b", b.self.incarnation, Reach::down, 10s);
  BOOST_REQUIRE(answers.size() == 1U);
  BOOST_TEST((answers[0].error().code == ErrorCode::peer_down));
  const std::string told = "give up b: you_are_dead node a took this node for dead: nothing heard for 10.0 s";
  BOOST_TEST((a.events == std::vector<std::string>{"up b", "down b peer_down", told}));
  a.router.link_up(at(11s), b.self);
  BOOST_TEST(a.events.back() == told);
  BOOST_TEST(a.events.size() == 4U);
}

BOOST_AUTO_TEST_CASE(bytes_that_are_no_message_change_nothing_or_end_the_connection) {
  a.router.frames(at(0ms), "b", b.self.incarnation, {make_frame(std::vector<std::byte>(3))});
  BOOST_TEST(a.events.back().starts_with("warn dropped bytes from b: "));
  a.router.frames(at(0ms), "nobody", {7, 7}, {make_frame(std::vector<std::byte>(3))});  // ignored silently
  BOOST_TEST(a.arrived.empty());
}

BOOST_AUTO_TEST_CASE(oldest_requests_come_first_and_say_where_they_were_made) {
  Answers answers;
  a.request(at(0ms), call_to("b"), into(answers));
  Request second = call_to("a");
  const SourceLocation site = SourceLocation::current();
  second.site = site;
  a.request(at(1s), std::move(second), into(answers));
  const std::vector<PendingCall> oldest = a.router.oldest(8);
  BOOST_TEST_REQUIRE(oldest.size() == 2U);
  BOOST_TEST(oldest[0].peer.name == "b");
  BOOST_TEST((oldest[0].started == at(0ms)));
  BOOST_TEST(!oldest[0].site.has_value());
  BOOST_TEST(oldest[1].peer.name == "a");
  BOOST_TEST(oldest[1].site.value().line() == site.line());
  BOOST_TEST(a.router.oldest(1).size() == 1U);
}

/// CT-1: in every order of events, a request gets exactly one answer, decided by the first event.
BOOST_AUTO_TEST_CASE(every_order_of_events_gives_exactly_one_answer, *label("fault-F37")) {
  std::vector<std::string> order{"answer", "deadline", "loss", "stop"};
  std::set<ErrorCode> codes;
  do {
    Pair nodes;
    Answers answers;
    nodes.a.request(at(0ms), call_to("b", at(10ms)), into(answers));
    nodes.exchange(at(1ms));
    TimePoint now = at(2ms);
    for (const std::string& event : order) {
      if (event == "answer") {
        nodes.b.answer(now, nodes.a.life(), nodes.b.arrived[0].envelope.request, msg::Reply{});
        nodes.exchange(now);
      } else if (event == "deadline") {
        now = at(10ms);
        nodes.a.router.tick(now);
      } else if (event == "loss") {
        Error closed;
        closed.code = ErrorCode::peer_down;
        nodes.a.router.link_down(now, "b", nodes.b.self.incarnation, closed);
      } else {
        Error stopped;
        stopped.code = ErrorCode::shutting_down;
        nodes.a.router.stop(now, stopped);
      }
    }
    BOOST_REQUIRE(answers.size() == 1U);
    BOOST_TEST(answers[0].ok() == (order.front() == "answer"));
    if (!answers[0]) codes.insert(answers[0].error().code);
  } while (std::next_permutation(order.begin(), order.end()));
  BOOST_TEST((codes == std::set<ErrorCode>{ErrorCode::timeout, ErrorCode::peer_down, ErrorCode::shutting_down}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail

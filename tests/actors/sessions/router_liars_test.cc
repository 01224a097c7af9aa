// Peers that send what is not theirs to send.
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "tests/actors/sessions/router_pair.h"

namespace troupe::detail {
namespace {

using namespace std::chrono_literals;

BOOST_FIXTURE_TEST_SUITE(router_liars, Pair, *boost::unit_test::label("attack"))

// The sender of a packet says what it charges: a call that charged nothing would wait for no grant, whatever its size.
BOOST_AUTO_TEST_CASE(call_that_uses_no_grant_ends_its_session) {
  msg::Call large;
  large.arguments.bytes = make_frame(std::vector<std::byte>(100 << 10));
  const std::vector<msg::AnyMessage> calls{msg::Call{}, msg::RemoteCall{}, msg::ValueCall{}, msg::RRefFetch{}, large};
  for (const msg::AnyMessage& call : calls) {
    for (const Haste haste : {Haste::at_once, Haste::rides}) {
      Pair liars;
      liars.a.notify(at(0ms), "b", {}, "worker", call, haste);
      liars.a.router.tick(at(20ms));
      liars.exchange(at(20ms));
      const std::string kind(msg::info_of(call).name);
      BOOST_TEST(liars.b.arrived.empty(), kind);
      BOOST_TEST((liars.b.events ==
                  std::vector<std::string>{"up a", "warn a " + kind + " from a uses none of the calls granted",
                                           "give up a: peer_down disconnected by the peer"}),
                 kind << ": " << liars.b.events.back());
    }
  }
  a.notify(at(0ms), "b", {}, "collective", msg::Call{});
  exchange(at(1ms));
  BOOST_TEST(b.arrived.size() == 1U);
}

// `a` lies: what it sends is another's to send. The session goes on, and what is true still arrives.
BOOST_AUTO_TEST_CASE(a_message_that_is_not_its_senders_to_send_is_refused_and_dropped) {
  Answers answers;
  const OptimizerId of_c{"c", 3, 4};
  a.request(at(0ms), {"b", "shard/c.4", "step", at(10s), msg::ShardCommit{of_c, {"c", 3, 9}, 0}}, into(answers));
  for (int i = 0; i < 8; ++i) a.notify(at(0ms), "b", {}, "shard/c.4", msg::ShardReleased{of_c, 0});
  a.notify(at(0ms), "b", {}, "membership", msg::ShutdownReady{"a", {1, 1}});
  exchange(at(1ms));
  BOOST_REQUIRE(b.arrived.size() == 1U);
  BOOST_TEST(b.arrived[0].message.holds<msg::ShutdownReady>());
  const std::string lie = "optimizer c.4 is not of a";
  BOOST_TEST(
      (b.events == std::vector<std::string>{"up a", "warn refused a ShardCommit from a (1 refused so far): " + lie,
                                            "refused 1 of a: " + lie,
                                            "warn refused a ShardReleased from a (2 refused so far): " + lie,
                                            "warn refused a ShardReleased from a (4 refused so far): " + lie,
                                            "warn refused a ShardReleased from a (8 refused so far): " + lie}));
}

BOOST_AUTO_TEST_CASE(a_reply_to_nothing_and_an_answer_that_is_no_reply_are_refused) {
  Answers answers;
  a.request(at(0ms), call_to("b"), into(answers));
  exchange(at(1ms));
  b.notify(at(2ms), "a", {}, "membership", msg::MemberList{9, {}});
  b.answer(at(2ms), a.life(), b.arrived[0].envelope.request, msg::ContextReleased{});
  exchange(at(3ms));
  BOOST_TEST(a.arrived.empty());
  BOOST_TEST(answers.empty());
  BOOST_TEST((a.events == std::vector<std::string>{
                              "up b", "warn refused a MemberList from b (1 refused so far): it names no request",
                              "warn refused a ContextReleased from b (2 refused so far): it answers no request"}));
  b.answer(at(4ms), a.life(), b.arrived[0].envelope.request, msg::Reply{});
  exchange(at(5ms));
  BOOST_TEST(answers.size() == 1U);
}

BOOST_AUTO_TEST_CASE(an_answer_with_a_handle_that_its_sender_did_not_make_fails_its_request) {
  Answers answers;
  a.request(at(0ms), call_to("b"), into(answers));
  exchange(at(1ms));
  msg::Reply reply;
  reply.value.refs.push_back({{"c", 3, 4}, {"x", 9, 5}, "c", {3, 3}, "b", "i64"});
  b.answer(at(2ms), a.life(), b.arrived[0].envelope.request, reply);
  exchange(at(3ms));
  BOOST_TEST_REQUIRE(answers.size() == 1U);
  BOOST_TEST_REQUIRE(!answers[0].ok());
  BOOST_TEST((answers[0].error().code == ErrorCode::protocol_violation));
  BOOST_TEST(answers[0].error().message == "handle x.5 is not of b");
  BOOST_TEST(answers[0].error().peer == "b");
  BOOST_TEST((answers[0].error().execution == Execution::yes));
  BOOST_TEST(a.pending == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail

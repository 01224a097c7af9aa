// A node with keys speaks to the holder of the key that it knows, and says so if another one listens.
#include "node/links/zmq_outgoing.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>
#include <variant>
#include <vector>

#include "tests/node/links/keyed_nodes.h"

namespace troupe {
namespace {

using namespace std::chrono_literals;
using boost::unit_test::label;
using testing::KeyedNode;

struct Run {
  const ClusterSecret secret = ClusterSecret::random();
  const std::vector<KeyRing> rings = make_run_keys(std::vector<NodeName>{"a", "b", "c"});
};

// Two seconds on a machine that is not busy with something else; attempts go on for ten.
constexpr Duration kSoon = 7s;
constexpr AttemptLimit::Rank kFirst = AttemptLimit::Rank::first;

Error failure_of(KeyedNode& node, Duration limit) {
  const auto begin = std::chrono::steady_clock::now();
  node.sink.wait_failures(1);
  BOOST_TEST((std::chrono::steady_clock::now() - begin < limit));
  BOOST_TEST(node.sink.ups().empty());
  return node.sink.failures()[0].why;
}

BOOST_AUTO_TEST_SUITE(zmq_outgoing)

BOOST_AUTO_TEST_CASE(node_whose_key_is_unknown_to_the_peer_fails_long_before_its_patience_ends, *label("S2")) {
  const Run run;
  const Run other;
  KeyedNode a(run.secret, run.rings[0]);
  const KeyRing& own = other.rings[1];  // with a's true key beside it
  KeyedNode b(run.secret, testing::ring_of(own, {run.rings[0].members()[0], own.members()[1]}), 2);
  b.connect_to("a", a);
  const Error why = failure_of(b, kSoon);
  BOOST_TEST((why.code == ErrorCode::auth_failed));
  BOOST_TEST(why.message == "a does not let this node's key in");
  BOOST_TEST(a.sink.ups().empty());
}

BOOST_AUTO_TEST_CASE(peer_with_another_key_than_expected_fails_long_before_its_patience_ends, *label("S2")) {
  const Run run;
  const Run other;
  KeyedNode impostor(run.secret, other.rings[0]);
  KeyedNode b(run.secret, run.rings[1], 2);
  b.connect_to("a", impostor);
  const Error why = failure_of(b, kSoon);
  BOOST_TEST((why.code == ErrorCode::auth_failed));
  BOOST_TEST(why.message == impostor.link->address() + " does not have the key that this node knows as a's");
  BOOST_TEST(impostor.sink.ups().empty());
}

BOOST_AUTO_TEST_CASE(another_member_at_the_address_is_not_taken_for_the_expected_one, *label("S4")) {
  const Run run;
  KeyedNode c(run.secret, run.rings[2], 3);
  KeyedNode b(run.secret, run.rings[1], 2);
  b.connect_to("a", c);
  BOOST_TEST((failure_of(b, kSoon).code == ErrorCode::auth_failed));
}

BOOST_AUTO_TEST_CASE(member_that_calls_itself_otherwise_than_its_key_is_not_up, *label("S4")) {
  const Run run;
  KeyedNode liar(run.secret, testing::forged_ring(run.rings[2], "a"), 3);
  KeyedNode b(run.secret, run.rings[1], 2);
  b.connect_to("c", liar);
  const Error why = failure_of(b, kSoon);
  BOOST_TEST((why.code == ErrorCode::not_authorized));
  BOOST_TEST(why.message == "c calls itself a");
}

BOOST_AUTO_TEST_CASE(node_without_a_key_of_its_peer_fails) {
  const Run run;
  KeyedNode a(run.secret, run.rings[0]);
  KeyedNode b(run.secret, run.rings[1], 2);
  b.connect_to("stranger", a);
  BOOST_TEST(failure_of(b, kSoon).message == "this node has no key of stranger");
  b.link->connect(a.link->address());
  b.sink.wait_failures(2);
  BOOST_TEST(b.sink.failures()[1].why.message ==
             "the name of the node at " + a.link->address() + " is not known, so neither is its key");
}

BOOST_AUTO_TEST_CASE(node_without_keys_and_one_with_keys_do_not_meet, *label("S2")) {
  const Run run;
  KeyedNode a(run.secret, run.rings[0]);
  ZmqLinkOptions with = KeyedNode::options(run.secret, run.rings[1], 2);
  with.keys.reset();
  with.connect_patience = 1s;
  KeyedNode open(std::move(with));
  open.link->connect(a.link->address());
  const Error why = failure_of(open, kSoon);
  BOOST_TEST((why.code == ErrorCode::peer_unreachable));
  BOOST_TEST(why.message == a.link->address() + " broke off every handshake, as a node with keys does, within 1 s");
  a.connect_to("b", open);
  BOOST_TEST((failure_of(a, kSoon).code == ErrorCode::auth_failed));
}

BOOST_AUTO_TEST_CASE(attempt_for_one_key_makes_way_for_the_member_that_is_there) {
  const Run run;
  KeyedNode a(run.secret, run.rings[0]);
  KeyedNode c(run.secret, run.rings[2], 3);
  a.connect_to("b", c);  // it is c
  c.connect_to("a", a);
  c.sink.wait_ups(1);
  a.sink.wait_ups(1);
  BOOST_TEST(a.sink.ups()[0].name == "c");
  a.sink.wait_failures(1);
  BOOST_TEST(a.sink.failures()[0].address == c.link->address());
  BOOST_TEST(a.sink.downs().empty());
  a.connect_to("b", c);
  a.sink.wait_failures(2);
  BOOST_TEST((a.sink.failures()[1].why.code == ErrorCode::name_in_use));
  BOOST_TEST(a.sink.failures()[1].why.message == "c is up there, not \"b\"");
}

BOOST_AUTO_TEST_CASE(patience_begins_when_the_attempt_has_a_place) {
  ZmqLinkOptions with;
  with.connect_patience = 10s;
  ZmqLinkParts parts(with);
  const TimePoint start = std::chrono::steady_clock::now();
  constexpr ReadySet::Key kOthers = 100;
  for (ReadySet::Key i = 0; i < AttemptLimit::kPlaces; ++i) BOOST_TEST(parts.attempts.ask(kOthers + i, kFirst, start));
  constexpr ReadySet::Key kOwn = 2;
  ZmqOutgoing waiting(parts, "tcp://127.0.0.1:1", "", kOwn, start);
  BOOST_TEST(!waiting.work(start + 1h).has_value());
  BOOST_TEST(!waiting.next_due().has_value());
  parts.attempts.over(kOthers);
  BOOST_TEST(parts.attempts.admit(start + 1h) == std::vector{kOwn}, boost::test_tools::per_element());
  waiting.begin(start + 1h);
  BOOST_TEST(!waiting.work(start + 1h + 9s).has_value());
  BOOST_TEST((waiting.next_due() == start + 1h + 10s));
  const auto happened = waiting.work(start + 1h + 10s);
  BOOST_REQUIRE((happened && std::holds_alternative<ZmqOutgoing::Failed>(*happened)));
  BOOST_TEST(std::get<ZmqOutgoing::Failed>(*happened).why.message.ends_with(" within 10 s"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe

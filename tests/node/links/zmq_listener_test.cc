// Nobody gets into a node with keys but the members of its ring, each under its own name.
#include "node/links/zmq_listener.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/node/links/keyed_nodes.h"

namespace troupe {
namespace {

using namespace std::chrono_literals;
using boost::unit_test::label;
using testing::Changes;
using testing::forged_ring;
using testing::frame_of;
using testing::KeyedClient;
using testing::KeyedNode;
using testing::KeyedTwo;
using testing::RawClient;

BOOST_AUTO_TEST_SUITE(zmq_listener)

BOOST_AUTO_TEST_CASE(nodes_with_keys_exchange_messages_in_both_lanes) {
  KeyedTwo two;
  two.a.send("b", "small");
  two.a.send("b", std::string(300'000, 'x'), LinkLane::bulk);
  two.b.sink.wait_messages(2);
  two.b.send("a", "back");
  two.a.sink.wait_messages(1);
  BOOST_TEST(two.a.sink.messages()[0].from == "b");
  const ZmqLinkCounts counts = two.b.link->counts();
  BOOST_TEST(counts.refused_handshakes == 0U);
  BOOST_TEST(counts.refused_messages == 0U);
}

BOOST_AUTO_TEST_CASE(client_without_curve_gets_nothing_in, *label("attack") * label("S2")) {
  KeyedTwo two;
  KeyedClient stranger(two.a.link->address(), nullptr, {});
  BOOST_CHECK(stranger.first_event() == ZmqSocket::Event::broken_off);
  two.check_still_up();
}

BOOST_AUTO_TEST_CASE(client_with_a_key_that_no_member_has_is_denied, *label("attack") * label("S2") * label("S3")) {
  KeyedTwo two;
  const KeyPair own = KeyPair::random();
  KeyedClient stranger(two.a.link->address(), &own, two.rings[0].own_keys().public_key());
  BOOST_CHECK(stranger.first_event() == ZmqSocket::Event::denied);
  BOOST_TEST(two.a.link->counts().refused_keys >= 1U);
  BOOST_TEST(two.b.link->counts().refused_keys == 0U);  // the self-test is not counted
  two.check_still_up();
}

BOOST_AUTO_TEST_CASE(key_that_is_refused_while_a_node_starts_is_reported, *label("attack") * label("S3")) {
  const KeyRing ring = make_run_keys(std::vector<NodeName>{"a"})[0];
  Changes changes;
  std::vector<std::string> reports;
  const auto report = [&](std::string text) { changes.change([&] { reports.push_back(std::move(text)); }); };
  ZmqLinkOptions with = KeyedNode::options(ClusterSecret::random(), ring, 1);
  with.log = [&](std::string_view line) { report(std::string(line)); };
  with.audit = [&](AuditEntry entry) { report(entry.reason + " " + entry.address); };
  const std::unique_ptr<ZmqLink> link = ZmqLink::open(std::move(with)).value();
  const KeyPair own = KeyPair::random();
  KeyedClient stranger(link->address(), &own, ring.own_keys().public_key());
  BOOST_CHECK(stranger.first_event() == ZmqSocket::Event::denied);
  const std::vector<std::string> expected{"no member has its key 127.0.0.1",
                                          "refused a connection from 127.0.0.1: no member has its key"};
  BOOST_TEST(changes.read([&] { return reports; }) == expected, boost::test_tools::per_element());
  BOOST_TEST(link->counts().refused_keys == 1U);
}

BOOST_AUTO_TEST_CASE(client_that_knows_another_key_of_the_server_cannot_speak_to_it, *label("attack") * label("S2")) {
  KeyedTwo two;
  const KeyPair own = two.rings[2].own_keys();  // a member
  KeyedClient stranger(two.a.link->address(), &own, KeyPair::random().public_key());
  BOOST_CHECK(stranger.first_event() == ZmqSocket::Event::broken_off);
  two.check_still_up();
}

std::string greeting(std::string_view mechanism) {  // of ZMTP 3.0, 64 bytes
  std::string bytes = std::string("\xFF\0\0\0\0\0\0\0\1\x7F", 10) + std::string("\3\0", 2) + std::string(mechanism);
  bytes.resize(64, '\0');
  return bytes;
}

BOOST_AUTO_TEST_CASE(plain_old_and_raw_clients_are_disconnected, *label("attack") * label("S2")) {
  KeyedTwo two;
  const std::string hello_of_plain = std::string("\4\x12\5HELLO\4user\4pass", 18);
  const std::string zmtp1 = std::string("\1\0\5\0hello", 9);
  const std::string zmtp2 = std::string("\xFF\0\0\0\0\0\0\0\1\x7F\1\5\0\0\0\5hello", 21);
  for (const std::string& bytes :
       {greeting("PLAIN") + hello_of_plain, greeting("NULL"), greeting("CURVE") + std::string(300, 'x'), zmtp1, zmtp2,
        std::string("GET / HTTP/1.1\r\n\r\n"), std::string(1000, '\xFF')}) {
    const RawClient client(two.a.link->address());
    client.send(bytes);
    BOOST_TEST(client.is_closed(), bytes.substr(0, 20));
  }
  two.check_still_up();
}

/// The options of a link without keys, whose cluster has `secret`.
ZmqLinkOptions without_keys(const ClusterSecret& secret, std::uint64_t incarnation) {
  ZmqLinkOptions with;
  with.name = "a";
  with.incarnation = {.high = 1, .low = incarnation};
  with.cluster_id = "test";
  with.secret = secret;
  return with;
}

// One byte of flags, eight of length: what follows them would be read to no end.
BOOST_AUTO_TEST_CASE(a_header_that_announces_8_GiB_ends_the_connection_before_and_after_the_greeting,
                     *label("attack") * label("S7")) {
  const std::string ready = std::string("\4\x29\5READY\x0BSocket-Type\0\0\0\6DEALER\x08Identity\0\0\0\0", 43);
  const std::string length = std::string("\0\0\0\2\0\0\0\0", 8);  // 2^33
  KeyedTwo two;
  KeyedNode open(without_keys(ClusterSecret::random(), 1));
  for (const char flags : {'\2', '\3', '\6'}) {  // a long frame, one of several, a long command
    const RawClient keyed(two.a.link->address());
    keyed.send(greeting("CURVE") + flags + length);
    BOOST_TEST(keyed.is_closed());
    const RawClient unkeyed(open.link->address());
    unkeyed.send(greeting("NULL") + ready + flags + length);
    BOOST_TEST(unkeyed.is_closed());
  }
  two.check_still_up();
}

// Without keys everybody on the way can record what is said.
BOOST_AUTO_TEST_CASE(a_recorded_session_is_of_no_use_with_a_restarted_node, *label("attack") * label("S5")) {
  const ClusterSecret secret = ClusterSecret::random();
  std::vector<Frames> recorded;
  std::uint32_t slot = 0;
  {
    const KeyedNode first_life(without_keys(secret, 1));
    KeyedClient member(first_life.link->address(), nullptr, {});
    const auto say = [&](Frames frames) {
      recorded.push_back(frames);
      member.send(frames);
    };
    HandshakeClient client(
        {.peer = {.name = "worker", .incarnation = {7, 7}, .address = "tcp://127.0.0.1:1"}, .cluster_id = "test"},
        secret, random_nonce());
    say({make_frame({client.hello().begin(), client.hello().end()})});
    say({make_frame(client.take(member.receive().at(0).bytes).reply)});
    const HandshakeStep step = client.take(member.receive().at(0).bytes);
    BOOST_REQUIRE(step.done);
    slot = step.done->slot;
    say({encode(ZmqEnvelope{.slot = step.done->slot, .token = step.done->token}), frame_of("header")});
    member.wait_until_all_was_read();
    BOOST_TEST(first_life.link->counts().refused_messages == 0U);
  }
  KeyedNode second_life(without_keys(secret, 2));
  KeyedClient honest(second_life.link->address(), nullptr, {});
  const HandshakeStep welcomed = honest.shake_hands("worker", secret);
  BOOST_REQUIRE(welcomed.done);
  BOOST_TEST(welcomed.done->slot == slot);  // the number of the recorded session
  struct Replay {
    std::vector<std::size_t> words;        ///< 0 hello, 1 proof, 2 message
    std::uint64_t refused_handshakes = 0;  ///< the proof answers no challenge of this life
    std::uint64_t refused_messages = 0;    ///< the token is of no session of this life
  };
  const std::vector<Replay> replays{{{0, 1, 2}, 1, 1}, {{0, 0, 1, 2}, 2, 1}, {{1, 0, 2}, 1, 1}, {{2, 1, 0}, 1, 1},
                                    {{0, 2}, 0, 1},    {{1}, 1, 0},          {{2}, 0, 1}};
  for (const Replay& replay : replays) {
    const ZmqLinkCounts before = second_life.link->counts();
    KeyedClient thief(second_life.link->address(), nullptr, {});
    for (const std::size_t word : replay.words) thief.send(recorded[word]);
    thief.send({frame_of("no word of a handshake")});  // ends one that was begun
    thief.wait_until_all_was_read();
    const ZmqLinkCounts after = second_life.link->counts();
    // Two more are those of the two lines above.
    BOOST_TEST(after.refused_handshakes - before.refused_handshakes == replay.refused_handshakes + 2);
    BOOST_TEST(after.refused_messages - before.refused_messages == replay.refused_messages);
  }
  BOOST_TEST(second_life.sink.ups().empty());
  BOOST_TEST(second_life.sink.messages().empty());
}

BOOST_AUTO_TEST_CASE(member_that_claims_the_name_of_another_is_refused, *label("attack") * label("S4")) {
  const ClusterSecret secret = ClusterSecret::random();
  const std::vector<KeyRing> rings = make_run_keys(std::vector<NodeName>{"a", "worker1", "worker2"});
  std::mutex mutex;
  std::vector<std::string> lines;
  ZmqLinkOptions with = KeyedNode::options(secret, rings[0], 1);
  with.log = [&](std::string_view line) {
    const std::lock_guard lock(mutex);
    lines.emplace_back(line);
  };
  {
    KeyedNode a(std::move(with));
    KeyedNode liar(secret, forged_ring(rings[2], "worker1"), 9);
    liar.connect_to("a", a);
    liar.sink.wait_failures(1);
    BOOST_TEST((liar.sink.failures()[0].why.code == ErrorCode::not_authorized));
    BOOST_TEST(liar.sink.failures()[0].why.message == "this node's key is not that of worker1");
    BOOST_TEST(a.sink.ups().empty());
    KeyedNode honest(secret, rings[1], 3);  // the name is free
    honest.connect_to("a", a);
    a.sink.wait_ups(1);
    BOOST_TEST(a.sink.ups()[0].name == "worker1");
    BOOST_TEST(a.sink.ups()[0].incarnation.low == 3U);
  }
  BOOST_TEST_REQUIRE(lines.size() == 1U);
  BOOST_TEST(lines[0] == "refused a connection: worker2 calls itself worker1 (not_authorized)");
}

BOOST_AUTO_TEST_CASE(session_of_a_member_is_of_no_use_to_another, *label("attack") * label("S4")) {
  KeyedTwo two;
  const PublicKey server = two.rings[0].own_keys().public_key();
  const KeyPair first = two.rings[2].own_keys();
  const KeyPair second = two.rings[3].own_keys();
  KeyedClient worker1(two.a.link->address(), &first, server);
  const HandshakeStep step = worker1.shake_hands("worker1", two.secret);
  BOOST_REQUIRE(step.done);
  const Frame stolen = encode(ZmqEnvelope{.slot = step.done->slot, .token = step.done->token});
  KeyedClient worker2(two.a.link->address(), &second, server);
  worker2.send({stolen, frame_of("header"), frame_of("as worker1")});
  const auto answer = handshake::decode(worker2.receive().at(0).bytes, kProtocolVersionMin, kProtocolVersionMax);
  BOOST_REQUIRE(answer.ok());
  BOOST_TEST((std::get<handshake::Refused>(answer.value()).code == ErrorCode::not_joined));
  BOOST_TEST(two.a.link->counts().refused_messages == 1U);
  two.check_still_up();
}

BOOST_AUTO_TEST_CASE(each_token_of_a_session_counts_on_one_connection_only, *label("attack") * label("S5")) {
  KeyedTwo two;
  const PublicKey server = two.rings[0].own_keys().public_key();
  const KeyPair own = two.rings[2].own_keys();
  KeyedClient worker(two.a.link->address(), &own, server);
  const HandshakeStep step = worker.shake_hands("worker1", two.secret);
  BOOST_REQUIRE(step.done);
  const auto counted_by = [&](KeyedClient& connection, const SessionToken& token) {
    const std::uint64_t before = two.a.link->counts().refused_messages;
    connection.send({encode(ZmqEnvelope{.slot = step.done->slot, .token = token}), frame_of("header")});
    connection.wait_until_all_was_read();
    return two.a.link->counts().refused_messages == before;
  };
  KeyedClient bulk(two.a.link->address(), &own, server);
  KeyedClient third(two.a.link->address(), &own, server);
  BOOST_TEST(counted_by(worker, step.done->token));
  BOOST_TEST(!counted_by(bulk, step.done->token));
  BOOST_TEST(counted_by(bulk, step.done->bulk_token));
  BOOST_TEST(!counted_by(third, step.done->bulk_token));
  BOOST_TEST(!counted_by(third, step.done->token));
  BOOST_TEST(counted_by(bulk, step.done->bulk_token));
  two.check_still_up();
}

// As if ZeroMQ had let in a client without asking a handler.
BOOST_AUTO_TEST_CASE(messages_without_a_user_are_dropped, *label("S3")) {
  const KeyRing ring = make_run_keys(std::vector<NodeName>{"a"})[0];
  ZmqLinkParts parts(KeyedNode::options(ClusterSecret::random(), ring, 1));
  ZmqSocket router = ZmqSocket::open(parts.context, ZmqSocket::Kind::router, testing::kKeyedLimits).value();
  const std::string address = router.bind("tcp://127.0.0.1:*").value();
  ZmqListener listener(parts, std::move(router), 1);
  KeyedClient stranger(address, nullptr, {});
  stranger.send({frame_of("hello")});
  const TimePoint due = std::chrono::steady_clock::now() + 5s;
  while (parts.counters.refused_messages == 0 && std::chrono::steady_clock::now() < due) {
    (void)parts.ready.wait(100ms);
    BOOST_CHECK(!listener.next(std::chrono::steady_clock::now()));
  }
  BOOST_TEST(parts.counters.refused_messages == 1U);
  BOOST_TEST(parts.counters.refused_handshakes == 0U);
}

BOOST_AUTO_TEST_CASE(keys_alone_do_not_let_a_node_in_without_the_secret, *label("attack") * label("S4")) {
  KeyedTwo two;
  KeyedNode other_run(ClusterSecret::random(), two.rings[2], 3);
  other_run.connect_to("a", two.a);
  other_run.sink.wait_failures(1);
  BOOST_TEST((other_run.sink.failures()[0].why.code == ErrorCode::auth_failed));
  two.check_still_up();
}

/// The members of `ring` without `name`.
std::vector<KeyRing::Member> without(const KeyRing& ring, const NodeName& name) {
  std::vector<KeyRing::Member> members = ring.members();
  std::erase_if(members, [&](const KeyRing::Member& member) { return member.name == name; });
  return members;
}

BOOST_AUTO_TEST_CASE(a_revoked_member_is_down_at_once_and_is_told_so,
                     *label("attack") * label("S12") * label("fault-F47")) {
  KeyedTwo two;
  BOOST_REQUIRE(two.rings[0].replace_members(without(two.rings[0], "b")).ok());
  two.a.sink.wait_downs(1);
  BOOST_TEST((two.a.sink.downs()[0].why.code == ErrorCode::peer_down));
  BOOST_TEST(two.a.sink.downs()[0].why.message == "its key is not in the list of members any more");
  two.b.sink.wait_downs(1);
  BOOST_TEST(two.b.sink.downs()[0].why.message == "a does not let this node's key in any more");
  two.b.connect_to("a", two.a);
  two.b.sink.wait_failures(1);
  BOOST_TEST((two.b.sink.failures()[0].why.code == ErrorCode::auth_failed));
  BOOST_TEST(two.a.sink.ups().size() == 1U);
}

BOOST_AUTO_TEST_CASE(members_that_stay_notice_nothing_of_a_new_list) {
  KeyedTwo two;
  for (const std::size_t i : {0U, 1U})
    BOOST_REQUIRE(two.rings[i].replace_members(without(two.rings[i], "worker1")).ok());
  two.check_still_up();
}

// Its connection was let in before: ZeroMQ does not ask again.
BOOST_AUTO_TEST_CASE(a_connection_of_a_revoked_key_cannot_begin_again,
                     *label("attack") * label("S12") * label("fault-F47")) {
  KeyedTwo two;
  const KeyPair own = two.rings[2].own_keys();
  KeyedClient worker(two.a.link->address(), &own, two.rings[0].own_keys().public_key());
  BOOST_TEST((worker.first_event() == ZmqSocket::Event::connected));
  BOOST_REQUIRE(two.rings[0].replace_members(without(two.rings[0], "worker1")).ok());
  const HandshakeStep step = worker.shake_hands("worker1", two.secret);
  BOOST_TEST_REQUIRE(step.failed.has_value());
  BOOST_TEST((step.failed->code == ErrorCode::auth_failed));
  two.check_still_up();
}

// Its key is another's now; the name alone is not enough.
BOOST_AUTO_TEST_CASE(a_connection_of_a_former_key_of_a_member_cannot_begin_again,
                     *label("attack") * label("S12") * label("fault-F47")) {
  KeyedTwo two;
  const KeyPair own = two.rings[2].own_keys();
  KeyedClient worker(two.a.link->address(), &own, two.rings[0].own_keys().public_key());
  BOOST_TEST((worker.first_event() == ZmqSocket::Event::connected));
  std::vector<KeyRing::Member> members = without(two.rings[0], "worker1");
  const KeyPair fresh = KeyPair::random();
  members.push_back({"worker1", fresh.public_key()});
  BOOST_REQUIRE(two.rings[0].replace_members(members).ok());
  BOOST_TEST(worker.shake_hands("worker1", two.secret).failed.has_value());
  KeyedClient with_new_key(two.a.link->address(), &fresh, two.rings[0].own_keys().public_key());
  BOOST_TEST((with_new_key.first_event() == ZmqSocket::Event::connected));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe

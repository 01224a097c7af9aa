#include "node/links/zap_handler.h"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/node/links/keyed_nodes.h"

namespace troupe {
namespace {

using namespace std::chrono_literals;
using boost::unit_test::label;
using testing::Changes;
using testing::frame_of;
using testing::KeyedClient;
using testing::KeyedNode;
using testing::kKeyedLimits;
using testing::text_of;

BOOST_AUTO_TEST_SUITE(zap_handler)

BOOST_AUTO_TEST_CASE(messages_carry_the_user_that_the_handler_named, *label("S4")) {
  ZmqContext context;
  const KeyPair own = KeyPair::random();
  const KeyPair client = KeyPair::random();
  const auto zap =
      ZapHandler::open(context,
                       [&client](const PublicKey& key) {
                         return key == client.public_key() ? std::optional<NodeName>("worker1") : std::nullopt;
                       },
                       {})
          .value();
  ZmqSocket router = ZmqSocket::open(context, ZmqSocket::Kind::router, kKeyedLimits).value();
  BOOST_REQUIRE(router.secure_as_server(own).ok());
  const std::string address = router.bind("tcp://127.0.0.1:*").value();
  ReadySet ready;
  BOOST_REQUIRE(router.tell(ready, 0).ok());
  KeyedClient worker(address, &client, own.public_key());
  worker.send({frame_of("one"), frame_of("two")});
  std::optional<Frames> message;
  const TimePoint due = std::chrono::steady_clock::now() + 5s;
  while (!(message = router.receive()) && std::chrono::steady_clock::now() < due) (void)ready.wait(100ms);
  BOOST_REQUIRE(message);
  BOOST_TEST(text_of(message->at(2)) == "two");
  BOOST_TEST(router.user() == "worker1");
}

BOOST_AUTO_TEST_CASE(one_context_has_one_handler) {
  ZmqContext context;
  const auto nobody = [](const PublicKey&) { return std::optional<NodeName>(); };
  const auto zap = ZapHandler::open(context, nobody, {}).value();
  BOOST_TEST((ZapHandler::open(context, nobody, {}).error().code == ErrorCode::resource_exhausted));
  ZmqContext other;
  BOOST_TEST(ZapHandler::open(other, nobody, {}).ok());
}

BOOST_AUTO_TEST_CASE(stop_ends_the_handler_and_may_be_repeated) {
  ZmqContext context;
  const auto zap = ZapHandler::open(context, [](const PublicKey&) { return std::optional<NodeName>(); }, {}).value();
  zap->stop();
  zap->stop();
  bool failed = false;
  zap->watch([&failed](const Error&) { failed = true; });
  BOOST_TEST(!failed);
}

/// A node whose handler ends, as if by an error, at the first key of a member after `break_it`.
struct Breakable {
  Breakable() {
    ZmqLinkOptions with = KeyedNode::options(secret, rings[0], 1);
    with.key_rule = [this](const PublicKey& key) {
      if (broken && rings[0].name_of(key)) throw std::runtime_error("no memory");
      return rings[0].name_of(key);
    };
    a.emplace(std::move(with));
  }
  const ClusterSecret secret = ClusterSecret::random();
  const std::vector<KeyRing> rings = make_run_keys(std::vector<NodeName>{"a", "b", "c", "d"});
  std::atomic<bool> broken = false;
  std::optional<KeyedNode> a;
};

BOOST_AUTO_TEST_CASE(handler_that_dies_fails_its_node_and_lets_nobody_in_any_more, *label("S3")) {
  Breakable run;
  KeyedNode b(run.secret, run.rings[1], 2);
  b.connect_to("a", *run.a);
  run.a->sink.wait_ups(1);
  run.broken = true;
  KeyedNode c(run.secret, run.rings[2], 3);
  c.connect_to("a", *run.a);
  run.a->sink.wait([&] { return run.a->sink.order().back().starts_with("failed: "); });
  BOOST_TEST(run.a->sink.order().back().find("no memory") != std::string::npos);
  KeyedNode d(run.secret, run.rings[3], 4);
  d.connect_to("a", *run.a);
  c.sink.wait_failures(1);
  d.sink.wait_failures(1);
  BOOST_TEST(run.a->sink.ups().size() == 1U);  // b
  BOOST_TEST(c.sink.ups().empty());
  BOOST_TEST(d.sink.ups().empty());
}

BOOST_AUTO_TEST_CASE(failure_before_it_is_watched_is_told_at_once) {
  ZmqContext context;
  const auto zap =
      ZapHandler::open(context,
                       [](const PublicKey&) -> std::optional<NodeName> { throw std::runtime_error("no memory"); }, {})
          .value();
  const KeyPair own = KeyPair::random();
  ZmqSocket router = ZmqSocket::open(context, ZmqSocket::Kind::router, kKeyedLimits).value();
  BOOST_REQUIRE(router.secure_as_server(own).ok());
  const std::string address = router.bind("tcp://127.0.0.1:*").value();
  const KeyPair client = KeyPair::random();
  const KeyedClient stranger(address, &client, own.public_key());
  Changes changes;
  std::string told;
  const auto watch = [&] { zap->watch([&](const Error& why) { changes.change([&] { told = why.message; }); }); };
  watch();
  testing::eventually(
      5s, changes, [&] { return !told.empty(); }, [&] { return told; });
  told.clear();
  watch();  // after its end
  BOOST_TEST(told.find("no memory") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(refused_keys_are_counted_and_logged_but_for_that_of_the_own_test) {
  ZmqContext context;
  Changes changes;
  std::vector<std::string> lines;
  const auto log = [&](std::string_view line) { changes.change([&] { lines.emplace_back(line); }); };
  const KeyPair test = KeyPair::random();
  const auto nobody = [](const PublicKey&) { return std::optional<NodeName>(); };
  const auto zap = ZapHandler::open(context, nobody, {.log = log, .own_test = test.public_key()}).value();
  const KeyPair own = KeyPair::random();
  ZmqSocket router = ZmqSocket::open(context, ZmqSocket::Kind::router, kKeyedLimits).value();
  BOOST_REQUIRE(router.secure_as_server(own).ok());
  const std::string address = router.bind("tcp://127.0.0.1:*").value();
  const KeyPair client = KeyPair::random();
  for (const KeyPair* key : {&test, &client}) {
    KeyedClient stranger(address, key, own.public_key());
    BOOST_CHECK(stranger.first_event() == ZmqSocket::Event::denied);
  }
  const std::vector<std::string> expected{"refused a connection from 127.0.0.1: no member has its key"};
  BOOST_TEST(changes.read([&] { return lines; }) == expected, boost::test_tools::per_element());
  BOOST_TEST(zap->denied() == 1U);
  zap->stop();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe

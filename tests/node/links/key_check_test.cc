// A listener that lets strangers in is found out before its node opens.
#include "node/links/key_check.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "node/links/zap_handler.h"
#include "tests/node/links/keyed_nodes.h"

namespace troupe {
namespace {

using namespace std::chrono_literals;
using boost::unit_test::label;
using testing::KeyedNode;
using testing::kKeyedLimits;

/// A listener without a link.
struct Listener {
  explicit Listener(std::optional<ZapHandler::Rule> rule, const std::string& at = "tcp://127.0.0.1:*") {
    if (rule) zap = ZapHandler::open(context, *rule, {}).value();
    BOOST_REQUIRE(socket.secure_as_server(own).ok());
    address = socket.bind(at).value();
  }
  Result<Unit> check(Duration patience) {
    return check_strangers_are_refused(context, kKeyedLimits, address, own.public_key(), KeyPair::random(), patience);
  }

  const KeyPair own = KeyPair::random();
  ZmqContext context;
  std::unique_ptr<ZapHandler> zap;
  ZmqSocket socket = ZmqSocket::open(context, ZmqSocket::Kind::router, kKeyedLimits).value();
  std::string address;
};

std::optional<NodeName> nobody(const PublicKey& /*key*/) { return std::nullopt; }
std::optional<NodeName> anybody(const PublicKey& /*key*/) { return "worker1"; }

BOOST_AUTO_TEST_SUITE(key_check)

BOOST_AUTO_TEST_CASE(listener_that_refuses_strangers_passes_at_every_kind_of_address, *label("S3")) {
  for (const char* at : {"tcp://127.0.0.1:*", "tcp://0.0.0.0:*", "tcp://*:*"}) {
    Listener listener(nobody, at);
    const auto passed = listener.check(5s);
    BOOST_TEST(passed.ok(), at);
  }
}

BOOST_AUTO_TEST_CASE(listener_that_lets_everybody_in_does_not_pass, *label("S3")) {
  Listener listener(anybody);
  const auto failed = listener.check(5s);
  BOOST_TEST_REQUIRE(!failed.ok());
  BOOST_TEST((failed.error().code == ErrorCode::not_authorized));
  BOOST_TEST(failed.error().message == listener.address + " is not safe: it let in a key that no member has");
}

BOOST_AUTO_TEST_CASE(listener_without_a_handler_does_not_pass, *label("S3")) {
  Listener listener(std::nullopt);
  const auto failed = listener.check(500ms);
  BOOST_TEST_REQUIRE(!failed.ok());
  BOOST_TEST((failed.error().code == ErrorCode::not_authorized));
}

BOOST_AUTO_TEST_CASE(listener_whose_handler_says_nothing_does_not_pass, *label("S3")) {
  Listener listener([](const PublicKey&) -> std::optional<NodeName> { throw std::runtime_error("dead"); });
  BOOST_TEST(!listener.check(500ms).ok());
}

BOOST_AUTO_TEST_CASE(node_that_would_let_everybody_in_does_not_open, *label("S3")) {
  const KeyRing ring = make_run_keys(std::vector<NodeName>{"a"})[0];
  ZmqLinkOptions with = KeyedNode::options(ClusterSecret::random(), ring, 1);
  with.key_rule = anybody;
  const auto opened = ZmqLink::open(std::move(with));
  BOOST_TEST_REQUIRE(!opened.ok());
  BOOST_TEST((opened.error().code == ErrorCode::not_authorized));
  BOOST_TEST(opened.error().message.ends_with(" is not safe: it let in a key that no member has"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe

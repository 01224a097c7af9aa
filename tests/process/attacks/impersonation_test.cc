// Somebody who takes the place of a member: with what he has read on its way, or with its name and address.
#include <boost/test/unit_test.hpp>

#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "node/links/zmq_link_parts.h"
#include "tests/chaos/byte_proxy.h"
#include "tests/conformance/test_functions.h"
#include "tests/node/links/keyed_nodes.h"
#include "tests/process/attacks/attacked.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using boost::unit_test::label;

BOOST_AUTO_TEST_SUITE(impersonation)

/// Nodes whose calls somebody reads on their way.
struct Overheard {
  explicit Overheard(Network network) {
    wire.there().record();
    nodes.emplace(AttackedOptions{.network = network, .bind = wire.target(), .advertise = wire.address()});
    BOOST_TEST(nodes->caller().rpc_sync("victim", &join_words, std::vector<std::string>{"once upon", "a time"}) ==
               "once upon a time");
    heard = wire.there().recorded();
  }
  ByteProxy wire;
  std::optional<Attacked> nodes;
  std::string heard;
};

/// Returns the envelopes of the messages in `bytes`.
std::vector<ZmqEnvelope> envelopes_in(std::string_view bytes) {
  constexpr std::string_view kBeginning{"TRPL\1\0\0\0", 8};
  std::vector<ZmqEnvelope> found;
  for (auto at = bytes.find(kBeginning); at != std::string_view::npos; at = bytes.find(kBeginning, at + 1)) {
    const auto envelope = decode_envelope(std::as_bytes(std::span(bytes.substr(at, ZmqEnvelope::kBytes))));
    if (envelope) found.push_back(*envelope);
  }
  return found;
}

/// A connection that repeats what another one said.
class Parrot {
 public:
  explicit Parrot(const std::string& address) : client_(address) {}

  /// Says `bytes`, unless the node has closed the connection.
  void say(std::string_view bytes) const {
    (void)::send(client_.socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  /// Reads until the node has said `word`. Returns false if it does not within five seconds.
  [[nodiscard]] bool hears(std::string_view word) {
    const auto due = std::chrono::steady_clock::now() + 5s;
    while (heard_.find(word) == std::string::npos) {
      pollfd polled{.fd = client_.socket.get(), .events = POLLIN, .revents = 0};
      std::string piece(4096, '\0');
      if (std::chrono::steady_clock::now() >= due) return false;
      if (::poll(&polled, 1, 100) <= 0) continue;
      const ssize_t size = ::recv(client_.socket.get(), piece.data(), piece.size(), 0);
      if (size <= 0) return false;
      heard_.append(piece, 0, static_cast<std::size_t>(size));
    }
    return true;
  }
  [[nodiscard]] bool is_closed() const { return client_.is_closed(); }

 private:
  RawClient client_;
  std::string heard_;
};

/// Returns the number of bytes that a connection of ZMTP 3.0 without security begins with: the greeting and READY.
std::size_t opening_of(std::string_view bytes) { return 66 + static_cast<std::size_t>(bytes.at(65)); }

BOOST_AUTO_TEST_CASE(token_that_was_read_on_its_way_is_of_no_use_on_another_connection,
                     *label("attack") * label("S5")) {
  Overheard overheard(Network::trusted);
  const std::vector<ZmqEnvelope> envelopes = envelopes_in(overheard.heard);
  BOOST_TEST_REQUIRE(!envelopes.empty());
  const CallLoad load(overheard.nodes->caller());
  load.await(100);
  KeyedClient thief(overheard.wire.target(), nullptr, {});
  for (ZmqEnvelope envelope : envelopes) {
    thief.send({encode(envelope), frame_of("no header of a session"), frame_of("no message")});
    envelope.kind = ZmqEnvelope::Kind::bye;
    thief.send({encode(envelope), encode(Farewell{})});
  }
  thief.wait_until_all_was_read();
  Parrot parrot(overheard.wire.target());
  const std::size_t opening = opening_of(overheard.heard);
  parrot.say(std::string_view(overheard.heard).substr(0, opening));
  BOOST_TEST(parrot.hears("READY"));
  parrot.say(std::string_view(overheard.heard).substr(opening));
  BOOST_TEST(parrot.hears("TRPH\5"));  // refused
  load.await(100);
  BOOST_TEST(load.failed() == 0U);
  overheard.nodes->check_unharmed();
}

BOOST_AUTO_TEST_CASE(with_keys_there_is_no_token_to_read_and_none_that_another_key_could_use,
                     *label("attack") * label("S4") * label("S5")) {
  Overheard overheard(Network::keys);
  Attacked& nodes = *overheard.nodes;
  BOOST_TEST(overheard.heard.size() > 1000U);
  for (const std::string_view what : {"TRPL", "TRPH", "once upon", "caller"})
    BOOST_TEST(overheard.heard.find(what) == std::string::npos, what);
  const CallLoad load(nodes.caller());
  load.await(100);
  const KeyPair thiefs = nodes.thiefs_ring().own_keys();
  KeyedClient thief(overheard.wire.target(), &thiefs, nodes.victims_key());
  for (std::uint32_t slot = 0; slot < 8; ++slot) {
    thief.send({encode(ZmqEnvelope{.slot = slot, .token = {}}), frame_of("header"), frame_of("message")});
    thief.send({encode(ZmqEnvelope{.kind = ZmqEnvelope::Kind::bye, .slot = slot, .token = {}}), encode(Farewell{})});
  }
  thief.wait_until_all_was_read();
  const Parrot parrot(overheard.wire.target());
  parrot.say(overheard.heard);
  BOOST_TEST(parrot.is_closed());
  load.await(100);
  BOOST_TEST(load.failed() == 0U);
  nodes.check_unharmed();
}

/// Another life of the caller, which does not exist.
Peer next_life_of(const Peer& peer) {
  Peer next = peer;
  ++next.incarnation.low;
  return next;
}

BOOST_AUTO_TEST_CASE(live_node_is_not_replaced_by_who_has_the_secret_and_says_its_name_and_address,
                     *label("attack") * label("fault-F43")) {
  for (const char* transport : {"tcp://127.0.0.1:*", "ipc://"}) {
    Attacked nodes({.transport = transport});
    const CallLoad load(nodes.caller());
    load.await(100);
    // It is asked at once, and again once its answer has come.
    for (int attempt = 0; attempt < 20; ++attempt) {
      KeyedClient impostor(nodes.victim().address, nullptr, {});
      const HandshakeStep step =
          impostor.shake_hands_as(next_life_of(nodes.caller_as_peer()), nodes.secret(), "conformance");
      BOOST_TEST_REQUIRE(step.failed.has_value());
      BOOST_TEST((step.failed->code == ErrorCode::name_in_use), step.failed->text());
      load.await(20);
    }
    BOOST_TEST(load.failed() == 0U);
    nodes.check_unharmed();
  }
}

BOOST_AUTO_TEST_CASE(member_who_says_the_name_and_address_of_another_is_refused_by_its_key,
                     *label("attack") * label("S4")) {
  Attacked nodes({.network = Network::keys});
  const CallLoad load(nodes.caller());
  load.await(100);
  for (const Peer& claimed : {nodes.caller_as_peer(), next_life_of(nodes.caller_as_peer())}) {
    const KeyPair thiefs = nodes.thiefs_ring().own_keys();
    KeyedClient thief(nodes.victim().address, &thiefs, nodes.victims_key());
    const HandshakeStep step = thief.shake_hands_as(claimed, nodes.secret(), "conformance");
    BOOST_TEST_REQUIRE(step.failed.has_value());
    BOOST_TEST((step.failed->code == ErrorCode::not_authorized), step.failed->text());
  }
  // Its own name is free; the address is not its own.
  const KeyPair thiefs = nodes.thiefs_ring().own_keys();
  KeyedClient thief(nodes.victim().address, &thiefs, nodes.victims_key());
  Peer moved = next_life_of(nodes.caller_as_peer());
  moved.name = "thief";
  const HandshakeStep step = thief.shake_hands_as(moved, nodes.secret(), "conformance");
  BOOST_TEST_REQUIRE(step.failed.has_value());
  BOOST_TEST((step.failed->code == ErrorCode::name_in_use), step.failed->text());
  load.await(100);
  BOOST_TEST(load.failed() == 0U);
  nodes.check_unharmed();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing

#include "node/links/handshake.h"

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "node/keys/key_pair.h"
#include "node/keys/key_ring.h"
#include "node/keys/locked_bytes.h"
#include "node/keys/signing.h"
#include "node/links/beat.h"
#include "node/links/secret.h"
#include "node/links/shared_memory/segment_inbox.h"
#include "node/links/streams/stream_keys.h"
#include "tests/support/temporary_directory.h"

namespace troupe {
namespace {

using testing::TemporaryDirectory;
using Bytes = std::vector<std::byte>;

constexpr std::uint8_t kLaterVersion = kProtocolVersionMax + 1;

HandshakeIdentity identity(std::string name, std::uint64_t incarnation) {
  return {.peer = {.name = name, .incarnation = {.high = 7, .low = incarnation}, .address = "tcp://127.0.0.1:1"},
          .cluster_id = "mnist"};
}

std::string text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A trainer that connects to ps0, by default with the same secret.
struct Barrier {
  ClusterSecret secret = ClusterSecret::random();
  HandshakeIdentity trainer = identity("trainer", 1);
  HandshakeIdentity ps0 = identity("ps0", 2);
  ClusterSecret trainers_secret = secret;

  HandshakeClient client() { return {trainer, trainers_secret, random_nonce()}; }
  HandshakeServer server() { return {ps0, secret, random_nonce()}; }

  /// Returns the code with which the server refuses the client's hello, and checks that the client gets the same code.
  ErrorCode refused_at_hello() {
    HandshakeClient c = client();
    const HandshakeStep at_server = server().take(c.hello());
    BOOST_REQUIRE(at_server.failed.has_value());
    const HandshakeStep at_client = c.take(at_server.reply);
    BOOST_REQUIRE(at_client.failed.has_value());
    BOOST_TEST((at_client.failed->code == at_server.failed->code));
    return at_server.failed->code;
  }
};

BOOST_AUTO_TEST_SUITE(node_handshake)

BOOST_AUTO_TEST_CASE(two_nodes_with_one_secret_know_each_other_and_share_a_token) {
  Barrier barrier;
  HandshakeClient client = barrier.client();
  HandshakeServer server = barrier.server();
  const HandshakeStep challenge = server.take(client.hello());
  BOOST_REQUIRE(!challenge.failed);
  const HandshakeStep proof = client.take(challenge.reply);
  BOOST_REQUIRE(!proof.failed);
  BOOST_TEST(!proof.done.has_value());
  const HandshakeStep proved = server.take(proof.reply);
  BOOST_REQUIRE(proved.done.has_value());
  BOOST_TEST((proved.done->peer == barrier.trainer.peer));
  const HandshakeServer::Welcome welcome = server.welcome(17);
  const HandshakeStep done = client.take(welcome.message);
  BOOST_REQUIRE(done.done.has_value());
  BOOST_TEST((done.done->peer == barrier.ps0.peer));
  BOOST_TEST(done.done->slot == 17U);
  BOOST_TEST(done.done->version == kProtocolVersionMax);
  BOOST_TEST(done.done->token.matches(welcome.session.token.bytes()));
  BOOST_TEST(done.done->bulk_token.matches(welcome.session.bulk_token.bytes()));
  BOOST_TEST(!done.done->bulk_token.matches(welcome.session.token.bytes()));
  BOOST_TEST(!SessionToken{}.matches(welcome.session.token.bytes()));
}

BOOST_AUTO_TEST_CASE(wrong_secret_is_auth_failed_on_both_sides, *boost::unit_test::label("fault-F44")) {
  Barrier barrier;
  barrier.trainers_secret = ClusterSecret::random();
  HandshakeClient client = barrier.client();
  HandshakeServer server = barrier.server();
  const HandshakeStep at_client = client.take(server.take(client.hello()).reply);
  BOOST_REQUIRE(at_client.failed.has_value());
  BOOST_TEST((at_client.failed->code == ErrorCode::auth_failed));
  BOOST_TEST(at_client.failed->message == "the cluster secrets differ");
  const HandshakeStep at_server = server.take(at_client.reply);
  BOOST_REQUIRE(at_server.failed.has_value());
  BOOST_TEST((at_server.failed->code == ErrorCode::auth_failed));
  BOOST_TEST(at_server.reply.empty());
}

BOOST_AUTO_TEST_CASE(name_that_is_not_that_of_the_key_is_refused_by_either_side,
                     *boost::unit_test::label("attack") * boost::unit_test::label("S4")) {
  const Barrier barrier;
  HandshakeClient liar(barrier.trainer, barrier.secret, random_nonce(), "ps0");
  HandshakeServer server(barrier.ps0, barrier.secret, random_nonce(), "worker2");
  const HandshakeStep at_server = server.take(liar.hello());
  BOOST_REQUIRE(at_server.failed.has_value());
  BOOST_TEST((at_server.failed->code == ErrorCode::not_authorized));
  BOOST_TEST(at_server.failed->message == "worker2 calls itself trainer");
  BOOST_TEST(liar.take(at_server.reply).failed->message == "this node's key is not that of trainer");

  HandshakeClient client(barrier.trainer, barrier.secret, random_nonce(), "ps1");
  HandshakeServer other(barrier.ps0, barrier.secret, random_nonce(), "trainer");
  const HandshakeStep at_client = client.take(other.take(client.hello()).reply);
  BOOST_REQUIRE(at_client.failed.has_value());
  BOOST_TEST((at_client.failed->code == ErrorCode::not_authorized));
  BOOST_TEST(at_client.failed->message == "ps1 calls itself ps0");
  BOOST_TEST(at_client.reply.empty());
}

BOOST_AUTO_TEST_CASE(client_that_goes_on_without_the_secret_is_refused) {
  Barrier barrier;
  HandshakeClient honest = barrier.client();
  HandshakeServer server = barrier.server();
  (void)server.take(honest.hello());
  const HandshakeStep step = server.take(handshake::encode(handshake::ClientProof{}));
  BOOST_REQUIRE(step.failed.has_value());
  BOOST_TEST((step.failed->code == ErrorCode::auth_failed));
  BOOST_TEST((honest.take(step.reply).failed->code == ErrorCode::auth_failed));
  BOOST_CHECK_THROW((void)server.welcome(0), std::logic_error);
}

BOOST_AUTO_TEST_CASE(server_that_echoes_the_clients_own_words_is_refused) {
  Barrier barrier;
  HandshakeClient client = barrier.client();
  // The attacker relays our hello to another node of the cluster, and its challenge back to us: the nonce differs.
  HandshakeClient other = barrier.client();
  const HandshakeStep step = client.take(barrier.server().take(other.hello()).reply);
  BOOST_REQUIRE(step.failed.has_value());
  BOOST_TEST((step.failed->code == ErrorCode::auth_failed));
}

BOOST_AUTO_TEST_CASE(replayed_proof_is_refused, *boost::unit_test::label("fault-F41")) {
  Barrier barrier;
  HandshakeClient client = barrier.client();
  HandshakeServer first = barrier.server();
  const HandshakeStep proof = client.take(first.take(client.hello()).reply);
  HandshakeServer second = barrier.server();
  (void)second.take(client.hello());
  BOOST_TEST((second.take(proof.reply).failed->code == ErrorCode::auth_failed));
}

BOOST_AUTO_TEST_CASE(every_changed_byte_of_a_challenge_or_welcome_is_refused) {
  Barrier barrier;
  HandshakeClient client = barrier.client();
  HandshakeServer server = barrier.server();
  const Bytes challenge = server.take(client.hello()).reply;
  for (std::size_t i = 0; i < challenge.size(); ++i) {
    HandshakeClient copy = client;
    Bytes changed = challenge;
    changed[i] ^= std::byte{0x01};
    BOOST_TEST_CONTEXT("byte " << i) {
      const auto failed = copy.take(changed).failed;
      BOOST_TEST_REQUIRE(failed.has_value());
      BOOST_TEST((failed->code == ErrorCode::decode));  // the bytes are damaged; the secret is the same
    }
  }
  (void)server.take(client.take(challenge).reply);
  const Bytes welcome = server.welcome(17).message;
  for (std::size_t i = 0; i < welcome.size(); ++i) {
    HandshakeClient copy = client;
    Bytes changed = welcome;
    changed[i] ^= std::byte{0x01};
    BOOST_TEST_CONTEXT("byte " << i) { BOOST_TEST(copy.take(changed).failed.has_value()); }
  }
}

BOOST_AUTO_TEST_CASE(hello_changed_on_its_way_is_refused) {
  Barrier barrier;
  const HandshakeClient client = barrier.client();
  const Bytes hello(client.hello().begin(), client.hello().end());
  for (std::size_t i = 0; i < hello.size(); ++i) {
    HandshakeClient copy = client;
    HandshakeServer server = barrier.server();
    Bytes changed = hello;
    changed[i] ^= std::byte{0x01};
    const HandshakeStep challenge = server.take(changed);
    BOOST_TEST_CONTEXT("byte " << i) {
      BOOST_TEST((challenge.failed.has_value() || copy.take(challenge.reply).failed.has_value()));
    }
  }
}

BOOST_AUTO_TEST_CASE(truncated_or_longer_messages_are_decode_errors, *boost::unit_test::label("fault-F42")) {
  Barrier barrier;
  HandshakeClient client = barrier.client();
  const Bytes hello(client.hello().begin(), client.hello().end());
  const auto code = [&](const Bytes& bytes) {
    HandshakeServer server = barrier.server();
    return server.take(bytes).failed->code;
  };
  for (std::size_t length = 0; length < hello.size(); ++length) {
    const ErrorCode got = code(Bytes(hello.begin(), hello.begin() + static_cast<std::ptrdiff_t>(length)));
    BOOST_TEST_CONTEXT("length " << length) { BOOST_TEST((got == ErrorCode::decode)); }
  }
  Bytes longer = hello;
  longer.push_back(std::byte{0});
  BOOST_TEST((code(longer) == ErrorCode::decode));
}

BOOST_AUTO_TEST_CASE(versions_without_overlap_are_a_version_mismatch_on_both_sides,
                     *boost::unit_test::label("fault-F39")) {
  Barrier barrier;
  barrier.trainer.version_min = kLaterVersion;
  barrier.trainer.version_max = kLaterVersion + 1;
  HandshakeClient client = barrier.client();
  HandshakeServer server = barrier.server();
  const HandshakeStep at_server = server.take(client.hello());
  BOOST_REQUIRE(at_server.failed.has_value());
  const auto mismatch = [](int peers, int peers_last, int own, int own_last) {
    return fmt::format("the peer speaks protocol versions {} to {}, this node {} to {}", peers, peers_last, own,
                       own_last);
  };
  BOOST_TEST(at_server.failed->message ==
             mismatch(kLaterVersion, kLaterVersion + 1, kProtocolVersionMin, kProtocolVersionMax));
  const HandshakeStep at_client = client.take(at_server.reply);
  BOOST_TEST((at_client.failed->code == ErrorCode::version_mismatch));
  BOOST_TEST(at_client.failed->message ==
             mismatch(kProtocolVersionMin, kProtocolVersionMax, kLaterVersion, kLaterVersion + 1));
}

// Old, new, none and huge: both sides agree on the highest version that both speak, or both say that there is none.
BOOST_AUTO_TEST_CASE(all_pairs_of_ranges_of_versions_end_in_the_highest_common_one_or_in_a_mismatch,
                     *boost::unit_test::label("attack") * boost::unit_test::label("S9")) {
  const std::vector<std::uint16_t> versions{0, 1, 6, 7, 8, 9, 0x7FFF, 0x8000, 0xFFFF};
  int agreed = 0;
  for (const std::uint16_t client_min : versions) {
    for (const std::uint16_t client_max : versions) {
      for (const std::uint16_t server_min : {std::uint16_t{6}, std::uint16_t{7}}) {
        for (const std::uint16_t server_max : {std::uint16_t{7}, std::uint16_t{9}}) {
          Barrier barrier;
          barrier.trainer.version_min = client_min;
          barrier.trainer.version_max = client_max;
          barrier.ps0.version_min = server_min;
          barrier.ps0.version_max = server_max;
          HandshakeClient client = barrier.client();
          HandshakeServer server = barrier.server();
          const HandshakeStep challenge = server.take(client.hello());
          const std::uint16_t common = std::min(client_max, server_max);
          const bool fits = client_min <= client_max && common >= std::max(client_min, server_min);
          BOOST_TEST_CONTEXT(client_min << " to " << client_max << " and " << server_min << " to " << server_max) {
            BOOST_TEST(challenge.failed.has_value() != fits);
            const HandshakeStep proof = client.take(challenge.reply);
            BOOST_TEST(proof.failed.has_value() != fits);
            if (!fits) {
              BOOST_TEST((challenge.failed->code == ErrorCode::version_mismatch));
              if (client_min <= client_max) BOOST_TEST((proof.failed->code == ErrorCode::version_mismatch));
              continue;
            }
            ++agreed;
            BOOST_REQUIRE(server.take(proof.reply).done.has_value());
            const HandshakeServer::Welcome welcome = server.welcome(1);
            BOOST_TEST(welcome.session.version == common);
            BOOST_TEST(client.take(welcome.message).done.value().version == common);
          }
        }
      }
    }
  }
  BOOST_TEST(agreed > 20);
}

/// Returns `hello` with other versions and the checksum of that: what whoever is on the way would send.
Bytes with_versions(std::span<const std::byte> hello, std::uint16_t min, std::uint16_t max) {
  handshake::Hello changed = std::get<handshake::Hello>(handshake::decode(hello, 1, 0xFFFF).value());
  changed.version_min = min;
  changed.version_max = max;
  return handshake::encode(changed);
}

BOOST_AUTO_TEST_CASE(a_hello_whose_versions_were_lowered_on_its_way_is_found_out,
                     *boost::unit_test::label("attack") * boost::unit_test::label("S9")) {
  Barrier barrier;
  for (HandshakeIdentity* side : {&barrier.trainer, &barrier.ps0}) {
    side->version_min = 7;
    side->version_max = 9;
  }
  for (const std::uint16_t lowered : {std::uint16_t{7}, std::uint16_t{8}}) {
    HandshakeClient client = barrier.client();
    HandshakeServer server = barrier.server();
    const HandshakeStep challenge = server.take(with_versions(client.hello(), 7, lowered));
    BOOST_REQUIRE(!challenge.failed);
    const HandshakeStep at_client = client.take(challenge.reply);
    BOOST_TEST_REQUIRE(at_client.failed.has_value());
    BOOST_TEST((at_client.failed->code == ErrorCode::auth_failed));
  }
  HandshakeClient honest = barrier.client();
  HandshakeServer server = barrier.server();
  BOOST_TEST(!honest.take(server.take(with_versions(honest.hello(), 7, 9)).reply).failed.has_value());
}

BOOST_AUTO_TEST_CASE(node_of_protocol_version_1_is_a_version_mismatch, *boost::unit_test::label("fault-F39")) {
  Barrier barrier;
  // Version 1 has neither pulse nor checksum. `refused` has the same bytes in every version.
  const Bytes hello{std::byte{'T'}, std::byte{'R'}, std::byte{'P'}, std::byte{'H'}, std::byte{1},
                    std::byte{1},   std::byte{0},   std::byte{1},   std::byte{0},   std::byte{0xFF}};
  HandshakeServer server = barrier.server();
  const HandshakeStep step = server.take(hello);
  BOOST_TEST((step.failed->code == ErrorCode::version_mismatch));
  constexpr std::byte kVersionMin{kProtocolVersionMin};
  constexpr std::byte kVersionMax{kProtocolVersionMax};
  const Bytes refused{std::byte{'T'}, std::byte{'R'}, std::byte{'P'}, std::byte{'H'}, std::byte{5}, std::byte{21},
                      std::byte{0},   kVersionMin,    std::byte{0},   kVersionMax,    std::byte{0}};
  BOOST_TEST((step.reply == refused));
}

BOOST_AUTO_TEST_CASE(versions_that_were_damaged_on_their_way_are_no_version_mismatch,
                     *boost::unit_test::label("fault-F11")) {
  Barrier barrier;
  HandshakeClient client = barrier.client();
  HandshakeServer server = barrier.server();
  Bytes hello(client.hello().begin(), client.hello().end());
  hello[5] = hello[7] = std::byte{kLaterVersion};
  BOOST_TEST((client.take(server.take(hello).reply).failed->code == ErrorCode::decode));
}

BOOST_AUTO_TEST_CASE(both_learn_where_heartbeats_go_the_lease_and_a_key_that_is_the_sessions_own) {
  Barrier barrier;
  barrier.trainer.pulse = {.address = "udp://127.0.0.1:7", .lease = std::chrono::seconds{3}};
  barrier.ps0.pulse = {.address = "unix://@ps0.pulse", .lease = kEndlessLease};
  HandshakeClient client = barrier.client();
  HandshakeServer server = barrier.server();
  (void)server.take(client.take(server.take(client.hello()).reply).reply);
  const HandshakeServer::Welcome welcome = server.welcome(1);
  const Authenticated at_client = client.take(welcome.message).done.value();
  BOOST_TEST((at_client.pulse == barrier.ps0.pulse));
  BOOST_TEST((welcome.session.pulse == barrier.trainer.pulse));
  BOOST_TEST(text(at_client.pulse_key.bytes()) == text(welcome.session.pulse_key.bytes()));
  BOOST_TEST(text(at_client.pulse_key.bytes()) != text(PulseKey{}.bytes()));
  const Peer& ps0 = barrier.ps0.peer;
  BOOST_TEST((at_client.pulse_mark == pulse_mark_of(barrier.secret, ps0.name, ps0.incarnation)));
  BOOST_TEST((at_client.pulse_mark != pulse_mark_of(barrier.secret, ps0.name, {.high = 7, .low = 9})));
  BOOST_TEST((at_client.pulse_mark != pulse_mark_of(barrier.secret, "ps1", ps0.incarnation)));
  BOOST_TEST((at_client.pulse_mark != pulse_mark_of(ClusterSecret::random(), ps0.name, ps0.incarnation)));
  HandshakeClient again = barrier.client();
  HandshakeServer other = barrier.server();
  (void)other.take(again.take(other.take(again.hello()).reply).reply);
  BOOST_TEST(text(other.welcome(1).session.pulse_key.bytes()) != text(at_client.pulse_key.bytes()));
}

BOOST_AUTO_TEST_CASE(versions_come_before_everything_else_in_a_hello) {
  Barrier barrier;
  // "TRPH", hello, only a later version, then an unknown layout.
  const Bytes hello{std::byte{'T'}, std::byte{'R'},           std::byte{'P'}, std::byte{'H'},
                    std::byte{1},   std::byte{kLaterVersion}, std::byte{0},   std::byte{kLaterVersion},
                    std::byte{0},   std::byte{0xFF}};
  HandshakeServer server = barrier.server();
  BOOST_TEST((server.take(hello).failed->code == ErrorCode::version_mismatch));
}

BOOST_AUTO_TEST_CASE(the_highest_common_version_is_chosen) {
  Barrier barrier;
  barrier.trainer.version_max = kLaterVersion;
  HandshakeClient client = barrier.client();
  HandshakeServer server = barrier.server();
  (void)server.take(client.take(server.take(client.hello()).reply).reply);
  BOOST_TEST(server.welcome(0).session.version == kProtocolVersionMax);
}

BOOST_AUTO_TEST_CASE(other_cluster_and_invalid_names_are_refused_with_their_codes) {
  Barrier other_cluster;
  other_cluster.trainer.cluster_id = "cifar";
  BOOST_TEST((other_cluster.refused_at_hello() == ErrorCode::not_joined));
  for (const std::string& name : {std::string{}, std::string{"a b"}, std::string{"a/b"}, std::string(128, 'a')}) {
    Barrier barrier;
    barrier.trainer.peer.name = name;
    BOOST_TEST((barrier.refused_at_hello() == ErrorCode::invalid_name));
  }
}

BOOST_AUTO_TEST_CASE(messages_out_of_turn_are_protocol_violations) {
  Barrier barrier;
  HandshakeClient client = barrier.client();
  HandshakeServer server = barrier.server();
  BOOST_TEST((HandshakeServer(server).take(handshake::encode(handshake::ClientProof{})).failed->code ==
              ErrorCode::protocol_violation));
  BOOST_TEST((HandshakeClient(client).take(handshake::encode(handshake::Welcome{})).failed->code ==
              ErrorCode::protocol_violation));
  (void)server.take(client.hello());
  BOOST_TEST((server.take(client.hello()).failed->code == ErrorCode::protocol_violation));
}

BOOST_AUTO_TEST_CASE(no_error_and_no_message_holds_the_secret) {
  Barrier barrier;
  const std::string secret = text(barrier.secret.bytes());
  HandshakeClient client = barrier.client();
  HandshakeServer server = barrier.server();
  const Bytes challenge = server.take(client.hello()).reply;
  const Bytes proof = client.take(challenge).reply;
  (void)server.take(proof);
  for (const auto& message : {text(client.hello()), text(challenge), text(proof), text(server.welcome(1).message)}) {
    BOOST_TEST(message.find(secret.substr(0, 8)) == std::string::npos);
    BOOST_TEST(message.find(text(server.welcome(1).session.token.bytes())) == std::string::npos);
  }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(cluster_secret)

template <class T>
concept Revealing = std::equality_comparable<T> || std::totally_ordered<T> || fmt::is_formattable<T>::value ||
                    requires(std::ostream& out, const T& value) { out << value; };

template <class... Secrets>
constexpr bool kNoneReveals = !(Revealing<Secrets> || ...);

BOOST_AUTO_TEST_CASE(secrets_cannot_be_compared_or_printed, *boost::unit_test::label("S10")) {
  static_assert(kNoneReveals<LockedBytes, ClusterSecret, KeyPair, KeyRing, SigningKey, SessionToken, PulseKey,
                             detail::StreamKey, detail::StreamSecret, detail::InboxToken>);
  static_assert(Revealing<PublicKey>);  // the concept sees what there is
}

BOOST_AUTO_TEST_CASE(inbox_tokens_match_if_all_bytes_do, *boost::unit_test::label("S10")) {
  const detail::InboxToken token = detail::random_inbox_token();
  BOOST_TEST(token.matches(detail::InboxToken(token)));
  for (std::size_t i = 0; i < token.bytes.size(); ++i) {
    detail::InboxToken other = token;
    other.bytes[i] ^= std::byte{1};
    BOOST_TEST(!token.matches(other));
  }
}

BOOST_AUTO_TEST_CASE(secret_file_is_written_with_mode_0600_and_read_back) {
  const TemporaryDirectory folder;
  const auto path = folder.path() / "secret";
  const ClusterSecret written = ClusterSecret::random();
  BOOST_TEST(written.to_file(path).ok());
  BOOST_TEST((std::filesystem::status(path).permissions() == std::filesystem::perms{0600}));
  const auto read = ClusterSecret::from_file(path);
  BOOST_REQUIRE(read.ok());
  BOOST_TEST(text(read.value().bytes()) == text(written.bytes()));
  BOOST_TEST(!written.to_file(path).ok());  // never overwritten
}

BOOST_AUTO_TEST_CASE(secret_file_that_others_can_read_is_refused_naming_path_and_mode) {
  const TemporaryDirectory folder;
  const auto path = folder.path() / "secret";
  BOOST_TEST(ClusterSecret::random().to_file(path).ok());
  std::filesystem::permissions(path, std::filesystem::perms{0640});
  const auto read = ClusterSecret::from_file(path);
  BOOST_REQUIRE(!read.ok());
  BOOST_TEST((read.error().code == ErrorCode::not_authorized));
  BOOST_TEST(read.error().message == "the cluster secret " + path.string() + " has mode 0640, expected 0600");
  BOOST_TEST(read.error().hint == "chmod 0600 " + path.string());
}

BOOST_AUTO_TEST_CASE(missing_linked_short_and_long_secret_files_are_refused) {
  const TemporaryDirectory folder;
  const auto path = folder.path() / "secret";
  const auto message = [](const std::filesystem::path& of) { return ClusterSecret::from_file(of).error().message; };
  const std::string start = "cannot read the cluster secret " + path.string() + ": ";
  BOOST_TEST(message(path) == start + "No such file or directory");
  std::filesystem::create_symlink("elsewhere", path);
  BOOST_TEST(message(path) == start + "it is a symbolic link");
  std::filesystem::remove(path);
  const auto write = [&path](std::size_t size) {
    std::ofstream(path) << std::string(size, 'x');
    std::filesystem::permissions(path, std::filesystem::perms{0600});
  };
  write(31);
  BOOST_TEST(message(path) == "the cluster secret in " + path.string() + " has only 31 bytes, expected 32");
  write(33);
  BOOST_TEST(message(path) == "the cluster secret in " + path.string() + " has more than 32 bytes, expected 32");
  BOOST_TEST(message(folder.path()) == "the cluster secret " + folder.path().string() + " is not a regular file");
}

BOOST_AUTO_TEST_CASE(secret_travels_through_an_inherited_descriptor_which_is_closed_after_it) {
  int ends[2] = {-1, -1};
  BOOST_REQUIRE(::pipe(ends) == 0);
  const ClusterSecret sent = ClusterSecret::random();
  BOOST_TEST(sent.to_descriptor(ends[1]).ok());
  ::close(ends[1]);
  const auto received = ClusterSecret::from_descriptor(ends[0]);
  BOOST_REQUIRE(received.ok());
  BOOST_TEST(text(received.value().bytes()) == text(sent.bytes()));
  BOOST_TEST(::fcntl(ends[0], F_GETFD) == -1);
  BOOST_TEST(ClusterSecret::from_descriptor(ends[0]).error().message ==
             "the cluster secret in descriptor " + std::to_string(ends[0]) + " cannot be read: Bad file descriptor");
}

BOOST_AUTO_TEST_CASE(secret_whose_writer_does_not_end_is_waited_for_within_a_limit) {
  int ends[2] = {-1, -1};
  BOOST_REQUIRE(::pipe(ends) == 0);
  BOOST_TEST(ClusterSecret::random().to_descriptor(ends[1]).ok());
  BOOST_TEST(ClusterSecret::from_descriptor(ends[0], std::chrono::milliseconds(1)).error().message ==
             "the cluster secret in descriptor " + std::to_string(ends[0]) + " has no end within 1 ms");
  BOOST_TEST(::fcntl(ends[0], F_GETFD) == -1);
  ::close(ends[1]);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe

// Where an inbox is, and which sockets a peer can name as one.
#include "node/links/shared_memory/segment_inbox.h"

#include <boost/test/unit_test.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <string>

#include "node/file_descriptor.h"
#include "node/links/socket_address.h"
#include "tests/support/temporary_directory.h"

namespace troupe::detail {
namespace {

BOOST_AUTO_TEST_SUITE(segment_inbox)

using Sent = SegmentInbox::Sent;

SegmentInbox inbox_beside(const std::string& address) { return SegmentInbox::open_beside(address).value(); }

HandedOver nothing() { return {.token = random_inbox_token(), .file = {}}; }

/// A datagram socket of somebody else.
struct Bystander {
  explicit Bystander(const std::string& place) {
    const SocketAddress at = unix_address(place).value();
    BOOST_REQUIRE(::bind(socket.get(), at.get(), at.size) == 0);
  }
  [[nodiscard]] bool got_something() const {
    std::array<char, 100> bytes{};
    return ::recv(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT) >= 0;
  }
  FileDescriptor socket{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
};

BOOST_AUTO_TEST_CASE(each_inbox_has_a_name_that_cannot_be_guessed_or_the_path_beside_its_link) {
  const SegmentInbox first = inbox_beside("tcp://127.0.0.1:40000");
  const SegmentInbox second = inbox_beside("tcp://127.0.0.1:40000");
  BOOST_TEST(first.place().starts_with("@troupe-memory-"));
  BOOST_TEST(first.place().size() == std::string("@troupe-memory-").size() + 32);
  BOOST_TEST(first.place() != second.place());
  BOOST_TEST(inbox_beside("ipc://@troupe-name").place().starts_with("@troupe-memory-"));
  const testing::TemporaryDirectory folder;
  const std::string path = (folder.path() / "node").string();
  BOOST_TEST(inbox_beside("ipc://" + path).place() == path + ".memory");
}

BOOST_AUTO_TEST_CASE(what_is_sent_comes_with_the_sender_and_a_place_without_an_inbox_is_told) {
  SegmentInbox receiver = inbox_beside("tcp://127.0.0.1:40000");
  const SegmentInbox sender = inbox_beside("ipc://@troupe-name");
  const HandedOver what = nothing();
  BOOST_TEST((sender.send(receiver.place(), what, -1) == Sent::done));
  const std::optional<HandedOver> came = receiver.receive();
  BOOST_TEST_REQUIRE(came.has_value());
  BOOST_TEST(came->token.matches(what.token));
  BOOST_TEST(came->sender == ::getpid());
  std::string nobodys = receiver.place();
  nobodys.back() = nobodys.back() == '0' ? '1' : '0';
  BOOST_TEST((sender.send(nobodys, what, -1) == Sent::nobody));
  BOOST_TEST((sender.send("", what, -1) == Sent::nobody));
  while (sender.send(receiver.place(), what, -1) == Sent::done) continue;
  BOOST_TEST((sender.send(receiver.place(), what, -1) == Sent::full));
}

// Who is let in over tcp may be another user's process on another host, and name what it likes as its inbox.
BOOST_AUTO_TEST_CASE(a_peer_cannot_make_a_node_write_to_sockets_of_others, *boost::unit_test::label("attack")) {
  const testing::TemporaryDirectory folder;
  const std::string path = (folder.path() / "notify").string();
  const std::string name = "@somebody-" + std::to_string(::getpid());
  const Bystander at_path(path);
  const Bystander at_name(name);
  const SegmentInbox over_tcp = inbox_beside("tcp://127.0.0.1:40000");
  BOOST_TEST((over_tcp.send(path, nothing(), -1) == Sent::nobody));
  BOOST_TEST((over_tcp.send(name, nothing(), -1) == Sent::nobody));
  BOOST_TEST(!at_path.got_something());
  const SegmentInbox over_ipc = inbox_beside("ipc://@troupe-name");  // its peers have this user's rights
  BOOST_TEST((over_ipc.send(name, nothing(), -1) == Sent::nobody));
  BOOST_TEST(!at_name.got_something());
  BOOST_TEST((over_ipc.send(path, nothing(), -1) == Sent::done));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail

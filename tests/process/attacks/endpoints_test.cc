// Where a running node can be reached: at its own endpoints, and nowhere else.
#include <boost/test/unit_test.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "actors/function_registry.h"
#include "node/file_descriptor.h"
#include "node/links/socket_address.h"
#include "node/links/tcp_place.h"
#include "node/node.h"

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using boost::unit_test::label;
using Texts = std::set<std::string>;

/// Returns the inodes of the sockets that this process has open.
Texts own_sockets() {
  Texts inodes;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = fs::read_symlink(entry.path(), gone).string();
    constexpr std::string_view kSocket = "socket:[";
    if (target.starts_with(kSocket)) inodes.insert(target.substr(kSocket.size(), target.size() - kSocket.size() - 1));
  }
  return inodes;
}

std::vector<std::vector<std::string>> rows_of(const std::string& file) {
  std::vector<std::vector<std::string>> rows;
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);  // names of columns
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::vector<std::string>& row = rows.emplace_back();
    for (std::string word; words >> word;) row.push_back(word);
  }
  return rows;
}

/// Returns "tcp 0100007F:1F90" for each endpoint of this process that is listened at, and "unix @NAME" likewise.
Texts endpoints() {
  const Texts mine = own_sockets();
  Texts found;
  for (const std::string kind : {"tcp", "tcp6", "udp", "udp6"}) {
    const std::string wanted_state = kind.starts_with("tcp") ? "0A" : "07";  // listening; bound, not connected
    for (const auto& row : rows_of("/proc/net/" + kind)) {
      if (row.size() > 9 && row[3] == wanted_state && mine.contains(row[9])) found.insert(kind + " " + row[1]);
    }
  }
  for (const auto& row : rows_of("/proc/net/unix")) {
    if (row.size() > 7 && mine.contains(row[6]) && (row[3] == "00010000" || row[4] == "0002"))
      found.insert((row[4] == "0002" ? "datagrams " : "unix ") + row[7]);
  }
  return found;
}

std::string text_of(const Texts& all) {
  std::string text;
  for (const std::string& each : all) text += each + "; ";
  return text;
}

Texts without(Texts all, const Texts& some) {
  std::erase_if(all, [&](const std::string& each) { return some.contains(each); });
  return all;
}

std::string hex_port(const std::string& address) {
  return fmt::format("0100007F:{:04X}", std::stoi(TcpPlace::parse(address)->port));
}

/// Returns whether a library whose name begins so is loaded.
bool is_loaded(std::string_view library) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.substr(line.rfind('/') + 1).starts_with(library)) return true;
  }
  return false;
}

/// Sends `bytes` to a port of this machine, and returns how many come back before the other side ends the connection.
std::size_t bytes_answered(const std::string& address, const std::vector<std::byte>& bytes) {
  const SocketAddress place = host_address(address.substr(6)).value();  // without "tcp://"
  const detail::FileDescriptor socket(::socket(place.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval patience{.tv_sec = 10, .tv_usec = 0};
  BOOST_REQUIRE(::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0);
  BOOST_REQUIRE(::connect(socket.get(), place.get(), place.size) == 0);
  BOOST_REQUIRE(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()));
  std::array<std::byte, 4096> answer{};
  std::size_t size = 0;
  for (ssize_t got = 0; (got = ::recv(socket.get(), answer.data(), answer.size(), 0)) > 0;)
    size += static_cast<std::size_t>(got);
  return size;
}

/// The first 32 bytes of CAF's own protocol: a handshake that announces 1 GiB, in network byte order.
std::vector<std::byte> basp_handshake() {
  std::vector<std::byte> bytes(32);
  bytes[4] = std::byte{0x40};  // operation 0, flags 0, 2^30 bytes of payload
  bytes[15] = std::byte{4};    // its version
  return bytes;
}

std::int64_t negated(std::int64_t x) { return -x; }

BOOST_AUTO_TEST_SUITE(endpoints_of_a_node)

// And at an inbox for processes of its user on its host, whose name nobody can guess.
BOOST_AUTO_TEST_CASE(a_node_with_keys_is_reached_at_one_tcp_port_and_one_for_heartbeats,
                     *label("attack") * label("S17")) {
  const Texts before = endpoints();
  const auto rings = make_run_keys(std::vector<NodeName>{"a", "b"});
  const FunctionRegistry functions{{"negated", &negated}};
  NodeOptions options;
  options.name = "a";
  options.keys = rings[0];
  options.world_size = 0;
  options.link_options["streams"] = "off";
  const Node a = Node::join(options, functions);
  Texts found = without(endpoints(), before);
  BOOST_TEST(found.erase("tcp " + hex_port(a.address())) == 1U);
  const auto erased = [&](std::string_view prefix) {
    return std::erase_if(found, [&](const std::string& endpoint) { return endpoint.starts_with(prefix); });
  };
  BOOST_TEST(erased("udp 0100007F:") == 1U);
  BOOST_TEST(erased("datagrams @troupe-memory-") == 1U);
  BOOST_TEST(found.empty(), text_of(found));

  NodeOptions other = options;
  other.name = "b";
  other.keys = rings[1];
  other.seed = a.address();
  const Node b = Node::join(other, functions);
  BOOST_TEST(b.rpc_sync("a", &negated, std::int64_t{3}) == -3);
  const Texts both = without(endpoints(), before);
  BOOST_TEST(both.size() == 6U, text_of(both));  // two of each

  BOOST_TEST(bytes_answered(a.address(), basp_handshake()) <= 64U);  // the greeting of ZMTP
  BOOST_TEST(b.rpc_sync("a", &negated, std::int64_t{4}) == -4);
  BOOST_TEST((without(endpoints(), before) == both));
}

BOOST_AUTO_TEST_CASE(a_node_with_unix_sockets_is_reached_by_no_network, *label("attack") * label("S17")) {
  const Texts before = endpoints();
  NodeOptions options;
  options.name = "a";
  options.bind = "ipc://";
  options.world_size = 0;
  const Node a = Node::join(options, {});
  const Texts found = without(endpoints(), before);
  BOOST_TEST(found.contains("unix " + a.address().substr(6)), text_of(found));
  for (const std::string& each : found)
    BOOST_TEST((each.starts_with("unix @") || each.starts_with("datagrams @")), each);
}

BOOST_AUTO_TEST_CASE(no_network_layer_of_the_actor_library_is_loaded, *label("attack") * label("S17")) {
  BOOST_TEST(is_loaded("libzmq.so"));
  BOOST_TEST(!is_loaded("libcaf_io"));
  BOOST_TEST(!is_loaded("libcaf_net"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing

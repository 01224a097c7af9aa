// Strangers that send as much as they can: they do not get far enough to keep members waiting.
#include <boost/test/unit_test.hpp>

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "node/file_descriptor.h"
#include "node/links/socket_address.h"
#include "tests/conformance/test_functions.h"
#include "tests/process/attacks/attacked.h"
#include "tests/process/attacks/flood.h"
#include "tests/process/attacks/stranger.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using boost::unit_test::label;
using Milliseconds = std::chrono::duration<double, std::milli>;

BOOST_AUTO_TEST_SUITE(floods)

constexpr int kRounds = 9;
constexpr std::size_t kCalls = 1200;
constexpr std::uint64_t kLeadMessages = 1000;  ///< of each connection, before calls are measured
constexpr double kRatioMax = 2;

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// Returns the time that 99 of 100 calls stay below, in milliseconds. A call that fails ends the test case.
double p99_of_calls(Node& caller) {
  const auto calls = caller.with({.deadline = 10s});
  std::vector<double> times;
  for (std::size_t i = 0; i < kCalls; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const auto x = static_cast<std::int64_t>(i);
    BOOST_REQUIRE(calls.rpc_sync("victim", &square, x) == x * x);
    times.push_back(Milliseconds(std::chrono::steady_clock::now() - begin).count());
  }
  std::ranges::sort(times);
  return times[kCalls * 99 / 100];
}

/// Three connections, one of each kind.
struct Strangers {
  Strangers(const std::string& address, const std::optional<PublicKey>& server, uid_t user) {
    for (const Flood::Kind kind : {Flood::Kind::junk, Flood::Kind::null_words, Flood::Kind::client})
      all.push_back(std::make_unique<Flood>(kind, address, server, user));
    for (const auto& each : all) each->await(kLeadMessages);
  }
  [[nodiscard]] std::uint64_t offered() const {
    std::uint64_t sum = 0;
    for (const auto& each : all) sum += each->offered();
    return sum;
  }
  std::vector<std::unique_ptr<Flood>> all;
};

/// Measures a member's calls while strangers flood a sink, and while they flood the victim, in turns. `greeting`: how
/// many bytes the victim may answer.
void flood(Attacked& nodes, const std::optional<PublicKey>& server, uid_t user, std::size_t greeting) {
  const std::string victim = nodes.victim().address;
  std::vector<double> beside;
  std::vector<double> under;
  std::uint64_t offered = 0;
  const auto begin = std::chrono::steady_clock::now();
  const auto strike = [&](const std::string& address, std::vector<double>& p99) {
    const Strangers strangers(address, server, user);
    p99.push_back(p99_of_calls(nodes.caller()));
    offered += strangers.offered();
    for (const auto& each : strangers.all) {
      // The flood has come. Of a sink a ZeroMQ client hears nothing, and it sends nothing until it is let in.
      const bool is_client = each == strangers.all.back();
      BOOST_TEST(((is_client && address != victim) || each->connections() > 0U));
      BOOST_TEST((is_client || each->sent() > 0U));
      BOOST_TEST(!each->was_let_in());
      BOOST_TEST(each->answered() <= (address == victim ? greeting : 0));
    }
  };
  for (int round = 0; round < kRounds; ++round) {
    const Sink sink(victim);
    strike(sink.address(), beside);
    strike(victim, under);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const double ratio = median_of(under) / median_of(beside);
  BOOST_TEST_MESSAGE(fmt::format("p99 {:.3f} ms beside a flooded sink, {:.3f} ms flooded: {:.2f}; {:.0f} messages/s",
                                 median_of(beside), median_of(under), ratio, static_cast<double>(offered) / seconds));
  BOOST_TEST(ratio < kRatioMax);
  nodes.check_unharmed();
}

BOOST_AUTO_TEST_CASE(strangers_who_flood_a_node_with_keys_do_not_get_in_or_slow_its_members_down,
                     *label("attack") * label("S2") * label("S7") * label("fault-F45")) {
  Attacked nodes({.network = Network::keys});
  flood(nodes, nodes.victims_key(), ::geteuid(), 64);
}

BOOST_AUTO_TEST_CASE(another_user_who_floods_a_unix_socket_gets_no_word_and_does_not_slow_members_down,
                     *boost::unit_test::precondition(may_be_another_user) * label("attack") * label("S15")) {
  Attacked nodes({.transport = "ipc://"});
  flood(nodes, std::nullopt, kStranger, 0);
}

// With keys a stranger cannot finish ZMTP, and unfinished connections are closed after two seconds.
BOOST_AUTO_TEST_CASE(idle_connections_beyond_its_descriptors_do_not_keep_members_out_of_a_node_with_keys,
                     *label("attack") * label("S7") * label("fault-F45")) {
  constexpr rlim_t kDescriptors = 256;
  constexpr int kIdle = 300;
  Attacked nodes({.network = Network::keys});
  const CallLoad load(nodes.caller());
  nodes.victims_process().limit(RLIMIT_NOFILE, kDescriptors);
  const SocketAddress place = host_address(nodes.victim().address.substr(6)).value();  // without "tcp://"
  std::vector<detail::FileDescriptor> idle;
  for (int i = 0; i < kIdle; ++i) {
    idle.emplace_back(::socket(place.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    BOOST_TEST_REQUIRE(::connect(idle.back().get(), place.get(), place.size) == 0);
  }
  {
    Node third = nodes.join_as_third();
    BOOST_TEST(third.with({.deadline = 10s}).rpc_sync("victim", &square, std::int64_t{5}) == 25);
    BOOST_TEST(nodes.caller()
                   .with({.deadline = 10s})
                   .rpc_sync("victim", &square_on_and_one, NodeName("thief"), std::int64_t{3}) == 10);
    third.stop();
  }
  load.await(100);
  BOOST_TEST(load.failed() == 0U);
}

/// Returns "socket:[INODE]" of all sockets that process `pid` has open.
std::set<std::string> sockets_of(pid_t pid) {
  std::set<std::string> sockets;
  for (const auto& each : std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid))) {
    std::error_code closed;
    sockets.insert(std::filesystem::read_symlink(each, closed).string());
  }
  return sockets;
}

/// Returns where process `pid` takes datagrams: abstract names of unix sockets, as the kernel shows them to every user.
std::vector<SocketAddress> unix_datagram_places_of(pid_t pid) {
  const std::set<std::string> own = sockets_of(pid);
  std::vector<SocketAddress> found;
  std::ifstream table("/proc/net/unix");
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string address, references, protocol, flags, type, state, inode, name;
    words >> address >> references >> protocol >> flags >> type >> state >> inode >> name;
    if (type == "0002" && name.starts_with('@') && own.contains(fmt::format("socket:[{}]", inode)))
      found.push_back(unix_address(name).value());
  }
  return found;
}

/// As above: its UDP ports.
std::vector<SocketAddress> udp_places_of(pid_t pid) {
  const std::set<std::string> own = sockets_of(pid);
  std::vector<SocketAddress> found;
  std::ifstream table("/proc/net/udp");
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string number, local, remote, state, queues, timer, retransmits, user, timeout, inode;
    words >> number >> local >> remote >> state >> queues >> timer >> retransmits >> user >> timeout >> inode;
    if (!own.contains(fmt::format("socket:[{}]", inode))) continue;
    const int port = std::stoi(local.substr(local.find(':') + 1), nullptr, 16);
    found.push_back(host_address(fmt::format("127.0.0.1:{}", port)).value());
  }
  return found;
}

constexpr std::chrono::milliseconds kLease = 1s;  ///< the shortest

/// Keeps the sockets full for three leases.
void keep_full(const std::vector<SocketAddress>& places) {
  BOOST_TEST_REQUIRE(!places.empty());
  const detail::FileDescriptor socket(::socket(places.front().family(), SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const std::string junk(40, 'x');
  const auto due = std::chrono::steady_clock::now() + 3 * kLease;
  while (std::chrono::steady_clock::now() < due) {
    for (const SocketAddress& to : places) (void)::sendto(socket.get(), junk.data(), junk.size(), 0, to.get(), to.size);
  }
}

BOOST_AUTO_TEST_CASE(another_user_who_fills_the_sockets_for_heartbeats_makes_nobody_look_dead,
                     *boost::unit_test::precondition(may_be_another_user) * label("attack") * label("S15")) {
  Attacked nodes({.transport = "ipc://", .lease = kLease});
  const CallLoad load(nodes.caller());
  const auto places = unix_datagram_places_of(nodes.victims_process().pid());
  as_user(kStranger, [&] { keep_full(places); });
  load.await(100);
  BOOST_TEST(load.failed() == 0U);
  nodes.check_unharmed();
}

BOOST_AUTO_TEST_CASE(stranger_who_fills_the_port_for_heartbeats_makes_nobody_look_dead,
                     *label("attack") * label("S7")) {
  Attacked nodes({.network = Network::keys, .lease = kLease});
  const CallLoad load(nodes.caller());
  keep_full(udp_places_of(nodes.victims_process().pid()));
  load.await(100);
  BOOST_TEST(load.failed() == 0U);
  nodes.check_unharmed();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing

// What can be read on the network: nothing with keys, everything without.
#include <boost/test/unit_test.hpp>

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "actors/dist_autograd.h"
#include "autograd/ops.h"
#include "node/file_descriptor.h"
#include "node/links/secret.h"
#include "node/node.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/support/share_nothing.h"

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(wire)

constexpr std::size_t kWindow = 16;

/// Lets a socket keep what comes while its reader is not running: a packet that is dropped is not looked at.
bool takes_much(const detail::FileDescriptor& socket) {
  const int room = 256 << 20;
  return ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) == 0;
}

/// Reads every packet of this host's loopback interface, on a thread of its own, and looks for windows of 16 bytes of
/// the markers. What lies across the end of a packet is not found: markers are repeated.
class Eavesdropper {
 public:
  explicit Eavesdropper(const std::map<std::string, std::string>& markers) {
    for (const auto& [what, marker] : markers) {
      for (std::size_t i = 0; i + kWindow <= marker.size(); ++i) windows_.emplace(marker.substr(i, kWindow), what);
    }
    for (const auto& [window, what] : windows_) ++beginnings_[beginning_of(window.data())];
    BOOST_REQUIRE(takes_much(socket_));
    sockaddr_ll place{};
    place.sll_family = AF_PACKET;
    place.sll_protocol = htons(ETH_P_ALL);
    place.sll_ifindex = static_cast<int>(::if_nametoindex("lo"));
    BOOST_REQUIRE(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0);
    thread_ = std::thread([this] { read(); });
  }
  ~Eavesdropper() { finish(); }
  Eavesdropper(const Eavesdropper&) = delete;
  Eavesdropper& operator=(const Eavesdropper&) = delete;

  /// Reads what has been sent, and stops. Returns how often a window of each marker was seen.
  std::map<std::string, std::size_t> finish() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    return seen_;
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }  ///< after finish

 private:
  static std::uint64_t beginning_of(const char* bytes) {
    std::uint64_t beginning = 0;
    std::memcpy(&beginning, bytes, sizeof beginning);
    return beginning;
  }

  void read() {
    std::vector<char> packet(1 << 18);
    while (true) {
      const bool last_look = stop_;  // before the socket is looked at: what was sent then is in it
      pollfd ready{.fd = socket_.get(), .events = POLLIN, .revents = 0};
      if (::poll(&ready, 1, last_look ? 0 : 20) == 0) {
        if (last_look) return;
        continue;
      }
      const ssize_t size = ::recv(socket_.get(), packet.data(), packet.size(), MSG_DONTWAIT);
      if (size > 0) look_into({packet.data(), static_cast<std::size_t>(size)});
    }
  }

  void look_into(std::string_view packet) {
    bytes_ += packet.size();
    for (std::size_t i = 0; i + kWindow <= packet.size(); ++i) {
      if (!beginnings_.contains(beginning_of(packet.data() + i))) continue;
      const auto found = windows_.find(std::string(packet.substr(i, kWindow)));
      if (found != windows_.end()) ++seen_[found->second];
    }
  }

  std::unordered_map<std::string, std::string> windows_;  ///< and the marker of each
  std::unordered_map<std::uint64_t, int> beginnings_;
  const detail::FileDescriptor socket_{::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL))};
  std::atomic<bool> stop_ = false;
  std::map<std::string, std::size_t> seen_;  ///< the thread, then finish
  std::size_t bytes_ = 0;                    ///< the thread, then finish
  std::thread thread_;
};

boost::test_tools::assertion_result may_eavesdrop(boost::unit_test::test_unit_id /*unit*/) {
  const detail::FileDescriptor socket(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL)));
  boost::test_tools::assertion_result result(socket.is_open() && takes_much(socket));
  if (!result) result.message() << "reading the loopback interface needs CAP_NET_RAW and CAP_NET_ADMIN";
  return result;
}

/// 32 letters and digits, drawn anew.
std::string random_word() {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz012345";
  const ClusterSecret random = ClusterSecret::random();
  std::string word;
  for (const std::byte byte : random.bytes()) word += kLetters[static_cast<std::size_t>(byte) % kLetters.size()];
  return word;
}

/// Eight floats between 1 and 2, drawn anew, and again and again.
Tensor random_pattern(std::int64_t size) {
  const ClusterSecret random = ClusterSecret::random();
  std::vector<float> values;
  for (std::int64_t i = 0; i < size; ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, random.bytes().data() + 4 * (i % 8), sizeof bits);
    bits = 0x3F800000U | (bits & 0x007FFFFFU);
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    values.push_back(value);
  }
  return from_values<float>(values, {size});
}

std::string bytes_of(const Tensor& pattern) {
  return {reinterpret_cast<const char*>(pattern.data<float>().data()), 8 * sizeof(float)};
}

std::string repeated(const std::string& word) {
  std::string text;
  for (int i = 0; i < 8; ++i) text += word;
  return text;
}

std::string answer_text(const std::string& word) {  // in words of the callee's own
  std::string other;
  for (const char letter : word) other += static_cast<char>(letter + 1);
  return other;
}
Tensor answer_tensor(const Tensor& tensor) { return tensor + ones({1}); }
Variable weighted(const Variable& x, const Variable& weights) { return x * weights; }

/// Calls with arguments, tensors, answers and gradients between two nodes. Returns how often a window of each was seen.
std::map<std::string, std::size_t> seen_on_the_wire(bool with_keys) {
  constexpr std::int64_t kLarge = 1 << 18;  // 1 MiB: over streams
  const NodeName name = "b" + random_word();
  const std::string word = random_word();
  const Tensor small = random_pattern(64);
  const Tensor large = random_pattern(kLarge);
  const Tensor weights = random_pattern(kLarge);
  const std::string changed = answer_text(repeated(word));
  Eavesdropper ears({{"name of a node", name},
                     {"text", word},
                     {"text of an answer", changed.substr(0, 32)},
                     {"small tensor", bytes_of(small)},
                     {"large tensor", bytes_of(large)},
                     {"answer of a large tensor", bytes_of(large + ones({1}))},
                     {"gradient", bytes_of(weights)}});
  {
    const FunctionRegistry functions{
        {"answer_text", &answer_text}, {"answer_tensor", &answer_tensor}, {"weighted", &weighted}};
    NodeOptions first;
    first.name = "a";
    first.bind = "tcp://127.0.0.1:*";
    first.world_size = 0;
    testing::share_nothing(first);
    NodeOptions second = first;
    second.name = name;
    second.secret = first.secret;
    if (with_keys) {
      const std::vector<KeyRing> rings = make_run_keys(std::vector<NodeName>{"a", name});
      first.keys = rings[0];
      second.keys = rings[1];
    }
    Node a = Node::join(first, functions);
    second.seed = a.address();
    Node b = Node::join(second, functions);
    for (int i = 0; i < 3; ++i) {
      BOOST_TEST((a.rpc_sync(name, &answer_text, repeated(word)) == changed));
      (void)a.rpc_sync(name, &answer_tensor, small);
      (void)a.rpc_sync(name, &answer_tensor, large);
      (void)a.remote(name, &answer_tensor, large).to_here(a);
      DistContext context(a);
      const Variable x(ones({kLarge}), RequiresGrad::yes);
      backward(context, sum(context.rpc_sync(name, &weighted, x, Variable(weights))));
      BOOST_TEST((bytes_of(context.gradients().of(x)) == bytes_of(weights)));
    }
    a.stop();
    b.stop();
  }
  auto seen = ears.finish();
  BOOST_TEST(ears.bytes() > std::size_t{3} * 8 * 4 * kLarge);  // it has read what was sent
  return seen;
}

BOOST_AUTO_TEST_CASE(nothing_can_be_read_with_keys,
                     *boost::unit_test::precondition(may_eavesdrop) * boost::unit_test::label("S1")) {
  for (const auto& [what, times] : seen_on_the_wire(true)) BOOST_ERROR(what << " was seen " << times << " times");
}

BOOST_AUTO_TEST_CASE(everything_can_be_read_without, *boost::unit_test::precondition(may_eavesdrop)) {
  BOOST_TEST(seen_on_the_wire(false).size() == 7U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe

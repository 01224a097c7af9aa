#include "node/links/transports.h"

#include <boost/test/unit_test.hpp>

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "node/keys/key_ring.h"
#include "node/links/memory_link.h"
#include "node/node.h"
#include "tensor/create.h"
#include "tensor/ops.h"

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(transports)

using namespace std::chrono_literals;
using boost::unit_test::label;

std::int64_t square(std::int64_t x) { return x * x; }

NodeOptions options(const std::string& name, const std::string& listen, const std::string& seed = {}) {
  NodeOptions options;
  options.name = name;
  options.bind = listen;
  options.seed = seed;
  options.world_size = 0;
  options.join_deadline = 5s;
  return options;
}

Error refusal(const NodeOptions& options) {
  try {
    (void)Node::join(options, {});
  } catch (const RemoteError& error) {
    return error.error();
  }
  BOOST_FAIL("joined");
  return {};
}

/// A user-defined transport: memory under another scheme. Counts its messages.
class CarrierLink final : public Link {
 public:
  CarrierLink(MemoryHub& hub, const LinkRequest& request, std::atomic<int>& sent)
      : memory_(hub, request.name, request.incarnation), sent_(sent) {}

  void start(LinkSink& sink) override { memory_.start(sink); }
  [[nodiscard]] std::string address() const override {
    return "carrier" + memory_.address().substr(6);
  }  // after "memory"
  void connect(std::string_view address) override { memory_.connect("memory" + std::string(address.substr(7))); }
  void send(const NodeName& to, LinkLane lane, Frames packet) override {
    ++sent_;
    memory_.send(to, lane, std::move(packet));
  }
  void disconnect(const NodeName& peer, const Farewell& farewell) override { memory_.disconnect(peer, farewell); }
  void stop() override { memory_.stop(); }

 private:
  MemoryLink memory_;
  std::atomic<int>& sent_;
};

/// Transports that include "carrier", and the calls that it got.
struct Carrier {
  Carrier() {
    transports.add("carrier", {[this](const LinkRequest& request) -> Result<std::unique_ptr<Link>> {
                                 ++opened;
                                 seen = request.options;
                                 return std::unique_ptr<Link>(std::make_unique<CarrierLink>(hub, request, sent));
                               },
                               {"birds"}});
  }
  MemoryHub hub;
  std::atomic<int> opened = 0;
  std::atomic<int> sent = 0;
  std::map<std::string, std::string> seen;  // written by the joining thread
  Transports transports;
};

BOOST_AUTO_TEST_CASE(unknown_transport_foreign_option_and_seed_of_another_transport_are_three_errors, *label("I-13")) {
  const Error unknown = refusal(options("a", "pigeon://loft"));
  BOOST_TEST((unknown.code == ErrorCode::bad_argument));
  BOOST_TEST(unknown.message == "cannot listen at \"pigeon://loft\": no transport \"pigeon\", there are ipc, tcp");

  NodeOptions foreign = options("a", "ipc://");
  foreign.link_options["advertise"] = "10.0.0.1";
  const Error option = refusal(foreign);
  BOOST_TEST((option.code == ErrorCode::bad_argument));
  BOOST_TEST(
      option.message ==
      "transport \"ipc\" has no option \"advertise\" (= \"10.0.0.1\"), it has connect_patience, handshake_timeout");

  const Error mixed = refusal(options("a", "tcp://127.0.0.1:*", "ipc://@nobody"));
  BOOST_TEST((mixed.code == ErrorCode::bad_argument));
  BOOST_TEST(mixed.message ==
             "the seed \"ipc://@nobody\" is reached by ipc, but this node listens at \"tcp://127.0.0.1:*\"");
}

BOOST_AUTO_TEST_CASE(option_with_a_wrong_value_is_refused_and_named, *label("I-13")) {
  NodeOptions wrong = options("a", "tcp://127.0.0.1:*");
  wrong.link_options["connect_patience"] = "soon";
  const Error error = refusal(wrong);
  BOOST_TEST((error.code == ErrorCode::bad_argument));
  BOOST_TEST(error.message ==
             "option \"connect_patience\" of transport \"tcp\": expected a duration such as \"500ms\", \"30s\" or "
             "\"2m\", found \"soon\"");
}

BOOST_AUTO_TEST_CASE(nodes_listen_at_ports_of_the_range_that_they_are_given) {
  const auto port_of = [](const Node& node) { return std::stoi(node.address().substr(node.address().rfind(':') + 1)); };
  const int low = std::min(port_of(Node::join(options("a", "tcp://127.0.0.1:*"), {})), 65'526);
  const auto within = [low](NodeOptions with) {
    with.link_options["ports"] = fmt::format("{}-{}", low, low + 9);
    return with;
  };
  const NodeOptions first = within(options("a", "tcp://127.0.0.1:*"));
  const Node a = Node::join(first, {{"square", &square}});
  NodeOptions second = within(options("b", "tcp://127.0.0.1:0", a.address()));
  second.secret = first.secret;
  const Node b = Node::join(second, {{"square", &square}});
  for (const Node* node : {&a, &b}) {
    BOOST_TEST(port_of(*node) >= low);
    BOOST_TEST(port_of(*node) <= low + 9);
  }
  BOOST_TEST(b.rpc_sync("a", &square, 7) == 49);

  NodeOptions full = options("c", "tcp://127.0.0.1:*");
  full.link_options["ports"] = fmt::format("{0}-{0}", port_of(a));
  const Error used = refusal(full);
  BOOST_TEST((used.code == ErrorCode::resource_exhausted));
  BOOST_TEST(used.message == fmt::format("cannot listen at tcp://127.0.0.1:*: no port of {0}-{0} is free", port_of(a)));
  full.link_options["ports"] = "some";
  BOOST_TEST(refusal(full).message == "option \"ports\" of transport \"tcp\": \"some\" is not LOW-HIGH, two ports");
}

/// Returns the TCP ports at which this process listens.
std::set<int> listening_ports() {
  std::set<int> ports;
  for (int descriptor = 3; descriptor < 1024; ++descriptor) {
    sockaddr_in bound{};
    int listens = 0;
    socklen_t size = sizeof listens;
    if (::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0) continue;
    size = sizeof bound;
    if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&bound), &size) == 0 && bound.sin_family == AF_INET)
      ports.insert(ntohs(bound.sin_port));
  }
  return ports;
}

double sum_of(const Tensor& tensor) { return sum(tensor).item<float>(); }

/// Makes `calls` large calls between two nodes with these options of the transport, fewer once a port was opened for
/// streams. Returns that port; nullopt if there is none.
std::optional<int> port_of_streams(const std::map<std::string, std::string>& link_options, int calls) {
  NodeOptions first = options("a", "tcp://127.0.0.1:*");
  first.link_options = link_options;
  const Node a = Node::join(first, {{"sum_of", &sum_of}});
  NodeOptions second = options("b", "tcp://127.0.0.1:*", a.address());
  second.secret = first.secret;
  second.link_options = link_options;
  const Node b = Node::join(second, {{"sum_of", &sum_of}});
  const std::set<int> before = listening_ports();
  const Tensor large = ones({1 << 18});
  for (int i = 0; i < calls; ++i) {
    BOOST_TEST(a.rpc_sync("b", &sum_of, large) == (1 << 18));
    for (const int port : listening_ports()) {
      if (!before.contains(port)) return port;
    }
  }
  return std::nullopt;
}

BOOST_AUTO_TEST_CASE(address_that_no_peer_can_connect_to_is_not_advertised) {
  NodeOptions wrong = options("a", "tcp://127.0.0.1:*");
  wrong.link_options["advertise"] = "tcp://0.0.0.0:*";
  const Error error = refusal(wrong);
  BOOST_TEST((error.code == ErrorCode::bad_argument));
  BOOST_TEST(error.message ==
             "cannot listen at \"tcp://127.0.0.1:*\": advertise: peers cannot connect to \"tcp://0.0.0.0:*\"");
}

BOOST_AUTO_TEST_CASE(large_messages_take_streams_unless_that_is_switched_off) {
  constexpr int kEnough = 1000;
  BOOST_TEST(port_of_streams({}, kEnough).has_value());
  BOOST_TEST(port_of_streams({{"streams", "auto"}}, kEnough).has_value());
  BOOST_TEST(!port_of_streams({{"streams", "off"}}, 5).has_value());
  NodeOptions wrong = options("a", "tcp://127.0.0.1:*");
  wrong.link_options["streams"] = "on";
  BOOST_TEST(refusal(wrong).message ==
             "cannot listen at \"tcp://127.0.0.1:*\": streams = \"on\" is neither auto nor off");
}

BOOST_AUTO_TEST_CASE(streams_take_no_ports_but_those_that_are_theirs) {
  const int free = port_of_streams({}, 1000).value();  // a moment ago, and the system gives out others first
  const int low = std::min(free, 65'516);
  const auto range = [](int from) { return fmt::format("{}-{}", from, from + 9); };
  BOOST_TEST(!port_of_streams({{"ports", range(low)}}, 5).has_value());
  BOOST_TEST(port_of_streams({{"advertise", "tcp://127.0.0.1:*"}}, 1000).has_value());
  const std::optional<int> port = port_of_streams({{"ports", range(low)}, {"stream_ports", range(low + 10)}}, 1000);
  BOOST_REQUIRE(port);
  BOOST_TEST((*port >= low + 10 && *port <= low + 19));
  NodeOptions wrong = options("a", "tcp://127.0.0.1:*");
  wrong.link_options["stream_ports"] = "some";
  BOOST_TEST(refusal(wrong).message ==
             "cannot listen at \"tcp://127.0.0.1:*\": stream_ports = \"some\" is not LOW-HIGH, two ports");
}

BOOST_AUTO_TEST_CASE(port_of_the_range_where_the_first_node_will_listen_is_left_to_it) {
  LinkRequest request;
  request.name = "b";
  request.incarnation = {1, 2};
  request.cluster_id = "test";
  request.listen = "tcp://127.0.0.1:*";
  const auto port_of = [](const std::unique_ptr<Link>& link) {
    return link->address().substr(link->address().rfind(':') + 1);
  };
  const std::string port = port_of(Transports().open(request).value());
  request.options["ports"] = fmt::format("{0}-{0}", port);
  BOOST_TEST(port_of(Transports().open(request).value()) == port);
  request.first = "tcp://127.0.0.1:" + port;
  const auto kept = Transports().open(request);
  BOOST_REQUIRE(!kept.ok());
  BOOST_TEST((kept.error().code == ErrorCode::resource_exhausted));
  NodeOptions early = options("b", "tcp://127.0.0.1:*", request.first);
  early.link_options = request.options;
  BOOST_TEST((refusal(early).code == ErrorCode::resource_exhausted));
}

BOOST_AUTO_TEST_CASE(options_alone_decide_how_a_node_listens, *label("I-15")) {
  const auto address_of = [](const NodeOptions& options) { return Node::join(options, {}).address(); };
  const std::string tcp = address_of(options("a", "tcp://127.0.0.1:0"));
  BOOST_TEST(tcp.starts_with("tcp://127.0.0.1:"), tcp);
  BOOST_TEST(tcp != "tcp://127.0.0.1:0");
  BOOST_TEST(address_of(options("a", "ipc://")).starts_with("ipc://@"));
  BOOST_TEST(address_of(options("a", "")).starts_with("tcp://127.0.0.1:"));
}

BOOST_AUTO_TEST_CASE(node_that_is_told_a_seed_only_listens_as_the_seed_does, *label("I-15")) {
  for (const char* listen : {"tcp://127.0.0.1:0", "ipc://"}) {
    const NodeOptions first = options("a", listen);
    const Node a = Node::join(first, {{"square", &square}});
    NodeOptions second = options("b", "", a.address());
    second.secret = first.secret;
    const Node b = Node::join(second, {{"square", &square}});
    BOOST_TEST(scheme_of(b.address()) == scheme_of(a.address()));
    BOOST_TEST(b.rpc_sync("a", &square, 7) == 49);
  }
}

Tensor identity(const Tensor& x) { return x; }

// Nobody says where they run: that a descriptor reaches the other one shows it.
BOOST_AUTO_TEST_CASE(nodes_with_keys_share_memory_if_they_turn_out_to_be_on_one_host) {
  const std::vector<KeyRing> rings = make_run_keys(std::vector<NodeName>{"a", "b"});
  NodeOptions first = options("a", "tcp://127.0.0.1:0");
  first.keys = rings[0];
  const Node a = Node::join(first, {{"identity", &identity}});
  NodeOptions second = options("b", "tcp://127.0.0.1:0", a.address());
  second.secret = first.secret;
  second.keys = rings[1];
  const Node b = Node::join(second, {{"identity", &identity}});
  const Tensor x = ones({1'000'000});
  const auto use = [](const Node& node) { return node.debug_info().shared_memory.value(); };
  for (int i = 0; i < 100 && (use(b).tensors == 0 || use(b).ring_packets == 0); ++i)
    BOOST_TEST(sum(b.rpc_sync("a", &identity, x)).item() == 1e6);
  BOOST_TEST(use(b).peers == 1U);
  BOOST_TEST(use(b).tensors > 0U);
  BOOST_TEST(use(b).ring_packets > 0U);
  BOOST_TEST(use(a).tensors > 0U);
  BOOST_TEST(b.debug_info().transports.at("a").text() == "shared memory + ring");
}

// Their packets have checksums over all of their bytes.
BOOST_AUTO_TEST_CASE(nodes_over_tcp_without_keys_share_nothing) {
  const Node a = Node::join(options("a", "tcp://127.0.0.1:0"), {});
  BOOST_TEST(!a.debug_info().shared_memory.has_value());
}

BOOST_AUTO_TEST_CASE(nodes_reach_each_other_through_a_transport_of_the_user, *label("I-16")) {
  Carrier carrier;
  const auto join = [&carrier](NodeOptions options) {
    options.transports = carrier.transports;
    options.link_options["birds"] = options.name;
    return Node::join(std::move(options), {{"square", &square}});
  };
  const Node a = join(options("a", "carrier://"));
  BOOST_TEST(carrier.opened == 1);
  BOOST_TEST(carrier.seen["birds"] == "a");
  const Node b = join(options("b", "", a.address()));
  BOOST_TEST(a.address() == "carrier://a");
  BOOST_TEST(b.address() == "carrier://b");
  BOOST_TEST(carrier.opened == 2);
  const int before = carrier.sent;
  BOOST_TEST(b.rpc_sync("a", &square, 7) == 49);
  BOOST_TEST(carrier.sent >= before + 2);  // at least the call and its answer
}

BOOST_AUTO_TEST_CASE(second_transport_under_one_scheme_is_refused_and_the_first_stays, *label("I-16")) {
  Carrier carrier;
  const auto says = [](const std::string& text) {
    return [text](const std::invalid_argument& error) { return error.what() == text; };
  };
  const LinkKind other{
      [](const LinkRequest&) -> Result<std::unique_ptr<Link>> { return Error{.code = ErrorCode::internal}; }};
  BOOST_CHECK_EXCEPTION(carrier.transports.add("carrier", other), std::invalid_argument,
                        says("[Transports] there is a transport \"carrier\" already"));
  BOOST_CHECK_THROW(carrier.transports.add("tcp", other), std::invalid_argument);
  BOOST_CHECK_EXCEPTION(carrier.transports.add("Car rier", other), std::invalid_argument,
                        says("[Transports] \"Car rier\" is no scheme: a-z, 0-9 and -"));
  BOOST_TEST(
      carrier.transports
          .open(
              {.name = "a", .incarnation = {1, 1}, .cluster_id = {}, .listen = "carrier://", .options = {}, .log = {}})
          .ok());
  BOOST_TEST(carrier.opened == 1);
  BOOST_TEST((carrier.transports.schemes() == std::vector<std::string>{"carrier", "ipc", "tcp"}));
}

BOOST_AUTO_TEST_CASE(transport_that_a_node_was_not_given_is_unknown_to_it, *label("I-14") * label("I-16")) {
  const Carrier carrier;  // not global: two nodes of one process may have different transports
  const Error unknown = refusal(options("a", "carrier://"));
  BOOST_TEST((unknown.code == ErrorCode::bad_argument));
  BOOST_TEST(unknown.message == "cannot listen at \"carrier://\": no transport \"carrier\", there are ipc, tcp");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe

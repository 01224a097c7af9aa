// Nodes with keys: they find each other, call each other, and no byte of it can be read on its way.
#include <boost/test/unit_test.hpp>

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "actors/function_registry.h"
#include "node/file_descriptor.h"
#include "node/joining/rendezvous_file.h"
#include "node/node.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/chaos/byte_proxy.h"
#include "tests/node/joining/keyed_options.h"
#include "tests/support/share_nothing.h"
#include "tests/support/temporary_directory.h"

namespace troupe {
namespace {

using namespace std::chrono_literals;
using boost::unit_test::label;
using testing::ByteProxy;

const std::vector<NodeName> kNames{"a", "b", "c"};

std::int64_t square(std::int64_t x) { return x * x; }
std::string reversed(std::string text) { return {text.rbegin(), text.rend()}; }
Tensor doubled(Tensor x) { return x + x; }

/// The nodes of one run, over TCP on this machine.
struct Run {
  const ClusterSecret secret = ClusterSecret::random();
  const std::vector<KeyRing> rings = make_run_keys(kNames);
  const FunctionRegistry functions{{"square", &square}};

  [[nodiscard]] NodeOptions options(std::size_t place, const std::string& seed = {}) const {
    return testing::keyed_options("keys", secret, rings[place], seed);
  }
  [[nodiscard]] Node join(const NodeOptions& options) const { return Node::join(options, functions); }
  [[nodiscard]] Error refusal(const NodeOptions& options) const {
    try {
      (void)join(options);
    } catch (const RemoteError& error) {
      return error.error();
    }
    BOOST_FAIL("joined");
    return {};
  }
};

BOOST_AUTO_TEST_SUITE(node_join)

BOOST_AUTO_TEST_CASE(nodes_with_keys_call_each_other_in_every_direction, *label("attack") * label("S2")) {
  const Run run;
  const Node a = run.join(run.options(0));
  const Node b = run.join(run.options(1, a.address()));
  NodeOptions through_b = run.options(2, b.address());
  through_b.seed_name = "b";  // not the first of the ring
  const Node c = run.join(through_b);
  c.wait_for_members(3, 10s);
  BOOST_TEST(b.rpc_sync("a", &square, std::int64_t{3}) == 9);
  BOOST_TEST(a.rpc_sync("b", &square, std::int64_t{4}) == 16);
  BOOST_TEST(c.rpc_sync("a", &square, std::int64_t{5}) == 25);
  BOOST_TEST(a.rpc_sync("c", &square, std::int64_t{6}) == 36);
  BOOST_TEST(c.rpc_sync("b", &square, std::int64_t{7}) == 49);
}

BOOST_AUTO_TEST_CASE(introductions_are_for_nodes_with_key_files) {
  const Run run;
  NodeOptions options = run.options(0);
  options.join_endpoint = "tcp://127.0.0.1:*";
  BOOST_TEST(run.refusal(options).message == "join_endpoint is set, but this node has no key file");
  options.join_endpoint = "";
  options.introduce_at = "tcp://127.0.0.1:1";
  BOOST_TEST(run.refusal(options).message == "introduce_at is set, but this node has no key file");
  BOOST_TEST(run.refusal(options).hint == "NodeOptions::use_key_files; `troupe keys` makes them");
}

BOOST_AUTO_TEST_CASE(a_word_that_is_no_log_level_is_refused) {
  const Run run;
  NodeOptions options = run.options(0);
  options.log_level = "wran";
  const Error error = run.refusal(options);
  BOOST_TEST((error.code == ErrorCode::bad_argument));
  BOOST_TEST(error.message ==
             R"(log_level: "wran" is not one of trace, debug, info, warn, error, off, did you mean "warn"?)");
}

BOOST_AUTO_TEST_CASE(a_stall_limit_that_a_living_node_would_pass_is_refused) {
  const Run run;
  NodeOptions options = run.options(0);
  for (const Duration limit : {Duration(-1ms), Duration(0ms), Duration(999ms), Duration(24h + 1ms)}) {
    options.stall_limit = limit;
    const Error error = run.refusal(options);
    BOOST_TEST((error.code == ErrorCode::bad_argument));
    BOOST_TEST(error.message == "stall_limit of " + std::to_string(limit / 1ms) + " ms is not in 1000 to 86400000 ms");
  }
  options.stall_limit = 1s;
  BOOST_TEST(run.join(options).members().size() == 1U);
}

BOOST_AUTO_TEST_CASE(nodes_with_keys_find_each_other_through_a_file) {
  const Run run;
  const testing::TemporaryDirectory directory;
  const std::string seed = "file:" + (directory.path() / "rendezvous").string();
  const Node b = run.join(run.options(1, seed));  // founds it, although a is the first of the ring
  const Node a = run.join(run.options(0, seed));
  BOOST_TEST(a.rpc_sync("b", &square, std::int64_t{3}) == 9);
}

/// A port of this machine at which connections are accepted, and nobody says a word.
class MutePort {
 public:
  MutePort() {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof place;
    auto* const address = reinterpret_cast<sockaddr*>(&place);
    BOOST_REQUIRE(::bind(listener_.get(), address, size) == 0);
    BOOST_REQUIRE(::listen(listener_.get(), 16) == 0);
    BOOST_REQUIRE(::getsockname(listener_.get(), address, &size) == 0);
    text_ = "tcp://127.0.0.1:" + std::to_string(ntohs(place.sin_port));
  }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] detail::FileDescriptor accept() const {
    return detail::FileDescriptor(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }

 private:
  detail::FileDescriptor listener_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::string text_;
};

BOOST_AUTO_TEST_CASE(who_finds_a_node_in_the_file_that_ends_before_it_answers_founds_the_cluster) {
  const Run run;
  const testing::TemporaryDirectory directory;
  const std::string path = (directory.path() / "rendezvous").string();
  NodeOptions options = run.options(1, "file:" + path);
  options.join_deadline = 8s;
  auto mute = std::make_optional<MutePort>();
  const RendezvousFile file(path, options.cluster_id, [](const std::vector<std::string>& addresses, auto /*due*/) {
    return std::vector<bool>(addresses.size());
  });
  BOOST_REQUIRE(file.join_or_found({"a", {.high = 1, .low = 2}, mute->text()}, std::nullopt).ok());
  std::future<Node> joined = std::async(std::launch::async, [&] { return run.join(options); });
  std::ignore = mute->accept();  // tests whether somebody listens
  std::ignore = mute->accept();  // begins to join
  mute.reset();
  const Node b = joined.get();
  BOOST_TEST(b.info().rank == 0U);
  const Node a = run.join(run.options(0, "file:" + path));
  BOOST_TEST(a.rpc_sync("b", &square, std::int64_t{3}) == 9);
}

BOOST_AUTO_TEST_CASE(node_with_keys_may_listen_where_other_machines_reach_it, *label("S1")) {
  const Run run;
  NodeOptions everywhere = run.options(0);
  everywhere.bind = "tcp://*:*";
  BOOST_TEST((run.refusal(everywhere).code == ErrorCode::bad_argument));  // peers cannot connect to "*"
  everywhere.link_options["advertise"] = "tcp://lo:*";
  const Node a = run.join(everywhere);
  BOOST_TEST(a.address().starts_with("tcp://127.0.0.1:"));
  const Node b = run.join(run.options(1, a.address()));
  BOOST_TEST(b.rpc_sync("a", &square, std::int64_t{3}) == 9);
  everywhere.keys.reset();
  BOOST_TEST((run.refusal(everywhere).code == ErrorCode::not_authorized));
}

BOOST_AUTO_TEST_CASE(keys_and_settings_that_contradict_each_other_are_refused_with_what_to_do) {
  const Run run;
  NodeOptions options = run.options(0);
  options.keys.reset();
  options.network = Network::keys;
  BOOST_TEST(run.refusal(options).message == "network = \"keys\", but this node has no keys");
  BOOST_TEST(run.refusal(options).hint ==
             "`troupe up` makes them with transport = \"tcp\"; a program sets NodeOptions::keys");
  options = run.options(0);
  options.network = Network::trusted;
  BOOST_TEST(run.refusal(options).message == "this node has keys, but network = \"trusted\" does not use them");
  options.network = Network::loopback;
  BOOST_TEST(run.refusal(options).message == "this node has keys, but network = \"loopback\" does not use them");
  options = run.options(0);
  options.bind = "ipc://";
  BOOST_TEST(run.refusal(options).message == "keys encrypt connections over tcp only, not over \"ipc\"");
  options = run.options(0);
  options.keys = run.rings[1];
  BOOST_TEST(run.refusal(options).message == "the keys are those of b, not of a");
}

BOOST_AUTO_TEST_CASE(node_that_is_not_in_the_ring_of_the_seed_is_refused, *label("attack") * label("S2")) {
  const Run run;
  const Node a = run.join(run.options(0));
  Run other;
  NodeOptions stranger = other.options(1, a.address());
  stranger.secret = run.secret;
  const Error error = other.refusal(stranger);  // it does not know a's key either
  BOOST_TEST((error.code == ErrorCode::auth_failed), error.text());
  NodeOptions open = run.options(1, a.address());
  open.keys.reset();
  open.join_deadline = 2s;
  const Error unencrypted = run.refusal(open);
  BOOST_TEST((unencrypted.code == ErrorCode::peer_unreachable || unencrypted.code == ErrorCode::timeout),
             unencrypted.text());
  BOOST_TEST(a.members().size() == 1U);
}

BOOST_AUTO_TEST_CASE(seed_of_another_name_is_not_joined) {
  const Run run;
  const Node b = run.join(run.options(1));
  const Error error = run.refusal(run.options(2, b.address()));  // takes it for a, the first of the ring
  BOOST_TEST((error.code == ErrorCode::auth_failed), error.text());
  BOOST_TEST(error.message == b.address() + " does not have the key that this node knows as a's");
}

/// What a call says, in words that nothing else on the wire has.
struct Marks {
  static std::string draw() {
    std::random_device random;
    std::string text(16, ' ');
    for (char& c : text) c = static_cast<char>('A' + random() % 26);
    return text;
  }
  const std::string caller = draw(), function = draw(), argument = draw(), tensor = draw(), bulk = draw();
  const std::string result = reversed(argument);
};

/// Two nodes that reach each other through recorders only, and a call of each kind between them.
struct Recorded {
  explicit Recorded(bool with_keys) {
    const ClusterSecret secret = ClusterSecret::random();
    const std::vector<KeyRing> rings = make_run_keys(std::vector<NodeName>{"a", marks.caller});
    const FunctionRegistry functions{{marks.function, &reversed}, {"doubled", &doubled}};
    const auto join = [&](const KeyRing& ring, const ByteProxy& wire, const std::string& seed) {
      NodeOptions options;
      options.name = ring.own_name();
      options.secret = secret;
      options.world_size = 0;
      options.bind = wire.target();
      options.link_options["advertise"] = wire.address();
      options.seed = seed;
      options.join_deadline = 10s;
      if (with_keys) options.keys = ring;
      testing::share_nothing(options);
      return Node::join(options, functions);
    };
    for (ByteProxy* wire : {&to_a, &to_caller}) {
      wire->there().record();
      wire->back().record();
    }
    const Node a = join(rings[0], to_a, "");
    const Node caller = join(rings[1], to_caller, to_a.address());
    BOOST_TEST(caller.rpc_sync("a", &reversed, marks.argument) == marks.result);
    BOOST_TEST(caller.rpc_sync("a", &doubled, bytes_of(marks.tensor, 16)).numel() == 16);
    BOOST_TEST(caller.rpc_sync("a", &doubled, bytes_of(marks.bulk, 400'000)).numel() == 400'000);
  }
  /// A tensor whose bytes begin with `text`.
  static Tensor bytes_of(const std::string& text, std::size_t size) {
    std::vector<std::uint8_t> values(size);
    std::ranges::copy(text, values.begin());
    return from_values<std::uint8_t>(std::span<const std::uint8_t>(values), Shape{static_cast<std::int64_t>(size)});
  }
  [[nodiscard]] bool saw(std::string_view text) {
    return to_a.there().has_recorded(text) || to_a.back().has_recorded(text) || to_caller.there().has_recorded(text) ||
           to_caller.back().has_recorded(text);
  }
  [[nodiscard]] bool saw_twice(std::string_view text) {  // what `doubled` returned
    std::string sum(text);
    for (char& c : sum) c = static_cast<char>(c + c);
    return saw(sum);
  }

  const Marks marks;
  ByteProxy to_a, to_caller;
};

BOOST_AUTO_TEST_CASE(nothing_of_a_call_can_be_read_on_its_way, *label("attack") * label("S2")) {
  Recorded encrypted(true);
  const Marks& marks = encrypted.marks;
  for (const std::string& mark :
       {marks.caller, marks.function, marks.argument, marks.result, marks.tensor, marks.bulk}) {
    BOOST_TEST(!encrypted.saw(mark));
  }
  BOOST_TEST(!encrypted.saw_twice(marks.tensor));
  BOOST_TEST(!encrypted.saw_twice(marks.bulk));
  BOOST_TEST(encrypted.to_a.there().passed() > 400'000U);
  BOOST_TEST(encrypted.to_caller.there().passed() > 400'000U);
}

BOOST_AUTO_TEST_CASE(all_of_a_call_can_be_read_on_its_way_without_keys) {
  Recorded open(false);
  const Marks& marks = open.marks;
  for (const std::string& mark :
       {marks.caller, marks.function, marks.argument, marks.result, marks.tensor, marks.bulk}) {
    BOOST_TEST(open.saw(mark));
  }
  BOOST_TEST(open.saw_twice(marks.tensor));
  BOOST_TEST(open.saw_twice(marks.bulk));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe

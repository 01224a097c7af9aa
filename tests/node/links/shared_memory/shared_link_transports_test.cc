// How messages travel between nodes that could share memory: who asks is told, and so is the log where they do not.
#include "node/links/shared_memory/shared_link.h"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node/links/shared_memory/segment.h"
#include "node/links/shared_memory/segment_inbox.h"
#include "node/links/shared_memory/shared_table.h"
#include "tests/node/links/shared_memory/nodes_by_hand.h"
#include "tests/node/links/shared_memory/sharing_nodes.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using boost::unit_test::label;
using detail::HandOver;
using detail::SharedControl;

BOOST_AUTO_TEST_SUITE(shared_link_transports)

/// The lines that a link has logged.
class Lines {
 public:
  [[nodiscard]] auto into() {
    return [kept = kept_](std::string_view line) {
      const std::lock_guard lock(kept->mutex);
      kept->lines.emplace_back(line);
    };
  }
  [[nodiscard]] std::vector<std::string> all() const {
    const std::lock_guard lock(kept_->mutex);
    return kept_->lines;
  }

 private:
  struct Kept {
    std::mutex mutex;
    std::vector<std::string> lines;  ///< guarded by mutex
  };
  const std::shared_ptr<Kept> kept_ = std::make_shared<Kept>();
};

/// Empty until the link knows the peer, which it tells its sink of first.
std::string transport(const Link& link, const NodeName& peer) { return link.transports()[peer].text(); }

/// Sends small messages both ways until a node's messages travel so; fails after ten seconds.
void until_travels(Two& two, const SharingNode& node, const NodeName& peer, std::string_view as) {
  until([&] {
    two.a.send("b", {});
    two.b.send("a", {});
    return transport(*node.link, peer) == as;
  });
}

BOOST_AUTO_TEST_CASE(nodes_that_share_say_so_and_log_nothing) {
  Lines lines;
  const SharedLinkOptions options{.log = lines.into()};
  Two two(options, options);
  until_travels(two, two.a, "b", "shared memory + ring");
  until_travels(two, two.b, "a", "shared memory + ring");
  BOOST_TEST(lines.all().empty());
}

BOOST_AUTO_TEST_CASE(a_node_whose_sharing_is_off_says_so_and_reads_what_others_share) {
  Lines lines;
  Two two({.packets_before_ring = 1, .log = lines.into()},
          {.shares = false, .packets_before_ring = 1, .log = lines.into()});
  until_travels(two, two.a, "b", "shared memory + ring");
  until_travels(two, two.b, "a", "unix sockets + ring (no shared memory: node.shared_memory_max is 0 here)");
  BOOST_TEST(lines.all().empty());  // as it was told
}

BOOST_AUTO_TEST_CASE(a_ring_that_a_peer_does_not_take_is_logged_once_when_patience_ends) {
  Lines patient;
  Lines impatient;
  Two two({.packets_before_ring = 1, .answer_patience = 1h, .log = patient.into()}, {.rings = false});
  const std::string text =
      "shared memory (no ring: it has not taken the ring that it was offered, as with node.rings = false)";
  until_travels(two, two.a, "b", text);
  BOOST_TEST(patient.all().empty());
  BOOST_TEST(transport(*two.b.link, "a") == "shared memory (no ring: node.rings is false here)");
  SharingNode c("c", 3, two.secret, {.packets_before_ring = 1, .answer_patience = 0ms, .log = impatient.into()});
  c.link->connect(two.b.link->address());
  c.sink.wait_ups(1);
  until([&] {
    c.send("b", {});
    return transport(*c.link, "b") == text;
  });
  for (int i = 0; i < 20; ++i) c.send("b", {});
  std::size_t of_rings = 0;
  for (const std::string& line : impatient.all()) of_rings += line.starts_with("has no ring to b, ") ? 1U : 0U;
  BOOST_TEST(of_rings == 1U);
}

BOOST_AUTO_TEST_CASE(tensors_beyond_the_limit_are_logged_once_and_forgotten_when_there_is_room) {
  Lines lines;
  Two two({.bytes_max = 4 * kMib, .rings = false, .log = lines.into()});
  const auto shared = [&] { return two.pass({random_frame(2 * kMib, two.random)}).at(0); };
  std::vector<Frame> held;
  do held.push_back(shared());
  while (held.back().memory == FrameMemory::foreign);
  held.push_back(shared());
  BOOST_TEST((held.back().memory == FrameMemory::own));
  static_cast<void>(two.pass({frame_of("small")}));  // says nothing of large ones
  BOOST_TEST(transport(*two.a.link, "b") ==
             "shared memory (no ring: node.rings is false here; not all tensors: no block of node.shared_memory_max, "
             "or no lease, was free)");
  BOOST_TEST(lines.all() == std::vector<std::string>{"shares not all tensors with b, the others take the socket: no "
                                                     "block of node.shared_memory_max, or no lease, was free"},
             boost::test_tools::per_element());
  held.clear();
  BOOST_TEST((shared().memory == FrameMemory::foreign));
  BOOST_TEST(transport(*two.a.link, "b") == "shared memory (no ring: node.rings is false here)");
}

// What lies in a ring is not signed: with the key that its writer was known by, the ring goes.
BOOST_AUTO_TEST_CASE(rings_of_a_key_that_is_replaced_end_and_new_ones_are_offered, *label("attack") * label("S12")) {
  const std::vector<KeyRing> rings = make_run_keys(std::vector<NodeName>{"a", "b"});
  Two two({.keys = rings[0], .packets_before_ring = 1}, {.keys = rings[1], .packets_before_ring = 1});
  until_travels(two, two.a, "b", "shared memory + ring");
  until_travels(two, two.b, "a", "shared memory + ring");
  std::vector<KeyRing::Member> members = rings[0].members();
  const KeyPair fresh = KeyPair::random();
  members[0].key = fresh.public_key();
  BOOST_REQUIRE(rings[1].replace_members(members).ok());
  BOOST_TEST(use_of(two.b).rings == 0U);
  BOOST_TEST(use_of(two.a).rings == 1U);
  const std::uint64_t before = use_of(two.a).ring_packets;
  two.b.sink.forget_messages();
  two.a.send("b", {});  // as whoever has the former key would
  BOOST_TEST(use_of(two.a).ring_packets == before + 1);
  BOOST_REQUIRE(rings[0].replace_members(members).ok());
  rings[0].replace_own_keys(fresh);
  BOOST_TEST(use_of(two.a).rings == 0U);
  BOOST_TEST(two.b.sink.messages().empty());
  until_travels(two, two.a, "b", "shared memory + ring");
  until_travels(two, two.b, "a", "shared memory + ring");
}

/// A node, and a peer whose part the test plays.
struct Alone {
  explicit Alone(Duration patience = 1h) : node("a", {.answer_patience = patience, .log = lines.into()}) { up(life); }
  void up(Incarnation of_peer) { node.inner->sink->on_link_up({.name = "b", .incarnation = of_peer}); }
  void hear(SharedControl control) { node.inner->sink->on_frames("b", life, {detail::encode(std::move(control))}); }
  /// Returns the node's token for the peer, which its hello has.
  [[nodiscard]] SharedControl hello() const {
    return detail::decode_shared_control(node.inner->sent.front().front()).value();
  }
  void share_something() {
    Frames message{frame_of("header"), frame_of("body"), random_frame(kMib, random)};
    BOOST_TEST(!node.link->share("b", message).has_value());
  }

  Incarnation life{.high = 1, .low = 2};
  std::mt19937_64 random{1};
  Lines lines;
  NodeByHand node;
};

BOOST_AUTO_TEST_CASE(an_inbox_out_of_reach_is_logged_at_once_and_once_for_each_life_of_the_peer) {
  Alone one;
  const std::string nowhere = "@troupe-memory-" + std::string(32, '0');
  const auto hello = [&] { return SharedControl{.token = detail::random_inbox_token(), .inbox = nowhere}; };
  one.hear(hello());
  const std::string line =
      "shares no memory with b, large messages to it take the socket: its inbox takes nothing: Connection refused";
  BOOST_TEST(one.lines.all() == std::vector{line}, boost::test_tools::per_element());
  BOOST_TEST(transport(*one.node.link, "b") ==
             "unix sockets (no shared memory: its inbox takes nothing: Connection refused; no ring: node.rings is "
             "false here)");
  for (int i = 0; i < 10; ++i) one.share_something();
  BOOST_TEST(one.lines.all().size() == 1U);
  one.node.inner->sink->on_link_down("b", one.life, Error{});
  BOOST_TEST(one.node.link->transports().empty());
  one.life.low = 3;
  one.up(one.life);
  one.hear(hello());
  BOOST_TEST(one.lines.all().size() == 2U);
}

BOOST_AUTO_TEST_CASE(memory_that_a_node_cannot_say_it_reads_is_logged) {
  Alone one;
  const std::string nowhere = "@troupe-memory-" + std::string(32, '0');
  one.hear({.token = detail::random_inbox_token(), .inbox = nowhere});
  const auto inbox = detail::SegmentInbox::open_beside(place_of("peers-inbox")).value();
  const auto page = detail::make_segment(detail::kLeasePageBytes, detail::Writers::all).value();
  const SharedControl hello = one.hello();
  const detail::HandedOver its_page{.kind = HandOver::page,
                                    .token = detail::shown_by("b", hello.token),
                                    .bytes = detail::kLeasePageBytes,
                                    .file = {}};
  BOOST_REQUIRE((inbox.send(hello.inbox, its_page, page.file.get()) == detail::SegmentInbox::Sent::done));
  one.hear({.kind = SharedControl::Kind::offered, .inbox = {}});
  const auto lines = one.lines.all();
  BOOST_TEST_REQUIRE(lines.size() == 2U);
  BOOST_TEST(lines[1] ==
             "reads no memory of b, messages of it take the socket: its inbox takes nothing: Connection refused");
}

BOOST_AUTO_TEST_CASE(a_peer_that_says_nothing_is_logged_when_patience_ends_and_something_was_to_be_shared) {
  Alone patient;
  patient.share_something();
  BOOST_TEST(patient.lines.all().empty());
  Alone impatient(0ms);
  BOOST_TEST(impatient.lines.all().empty());
  for (int i = 0; i < 10; ++i) impatient.share_something();
  BOOST_TEST(
      impatient.lines.all() ==
          std::vector<std::string>{"shares no memory with b, large messages to it take the socket: it has not said "
                                   "where its inbox is"},
      boost::test_tools::per_element());
}

// It says that it is ready, and nothing in the inbox shows its process.
BOOST_AUTO_TEST_CASE(a_peer_that_does_not_show_its_process_is_logged) {
  Alone one(0ms);
  const auto inbox = detail::SegmentInbox::open_beside(place_of("peers-inbox")).value();
  one.hear({.token = detail::random_inbox_token(), .inbox = inbox.place()});
  one.hear({.kind = SharedControl::Kind::ready, .inbox = {}});
  BOOST_TEST(transport(*one.node.link, "b") ==
             "unix sockets (no shared memory: it has not shown its process here; no ring: node.rings is false here)");
  BOOST_TEST(one.lines.all().size() == 1U);
}

// It tells two nodes of one host of each other's inboxes and tokens: what each then puts there is its own.
BOOST_AUTO_TEST_CASE(a_peer_that_passes_on_inboxes_and_tokens_makes_no_two_nodes_share, *label("attack")) {
  Alone one;
  auto inbox = detail::SegmentInbox::open_beside(place_of("its-inbox")).value();
  const auto page = detail::make_segment(detail::kLeasePageBytes, detail::Writers::all).value();
  one.hear({.token = detail::random_inbox_token(), .inbox = inbox.place()});
  const auto answers = [&](const NodeName& sender) {
    const SharedControl hello = one.hello();
    const detail::HandedOver its_page{.kind = HandOver::page,
                                      .token = detail::shown_by(sender, hello.token),
                                      .bytes = detail::kLeasePageBytes,
                                      .file = {}};
    BOOST_REQUIRE((inbox.send(hello.inbox, its_page, page.file.get()) == detail::SegmentInbox::Sent::done));
    const std::size_t before = one.node.inner->sent.size();
    one.hear({.kind = SharedControl::Kind::offered, .inbox = {}});
    return one.node.inner->sent.size() - before;
  };
  BOOST_TEST(answers("c") == 0U);  // which thinks that it talks to b
  BOOST_TEST(answers("b") == 1U);
}

BOOST_AUTO_TEST_CASE(what_a_peer_has_not_answered_is_said_again) {
  Alone one(0ms);
  const auto last_said = [&] { return detail::decode_shared_control(one.node.inner->sent.back().front()).value(); };
  const std::size_t before = one.node.inner->sent.size();
  one.share_something();
  BOOST_TEST_REQUIRE(one.node.inner->sent.size() == before + 1);
  BOOST_TEST((last_said().kind == SharedControl::Kind::hello));
  BOOST_TEST(last_said().number == 1U);  // and the peer's is missing
  auto inbox = detail::SegmentInbox::open_beside(place_of("its-inbox")).value();
  SharedControl hello{.token = detail::random_inbox_token(), .inbox = inbox.place()};
  one.hear(hello);
  BOOST_TEST((last_said().kind == SharedControl::Kind::offered));
  one.share_something();
  BOOST_TEST((last_said().kind == SharedControl::Kind::offered));
  BOOST_TEST(inbox.receive().has_value());
  BOOST_TEST(inbox.receive().has_value());
  hello.number = 1;
  one.hear(hello);
  BOOST_TEST((last_said().kind == SharedControl::Kind::hello));
  BOOST_TEST(last_said().number == 0U);
}

// As a port, which takes each hello for a broken packet and logs it.
BOOST_AUTO_TEST_CASE(a_peer_that_never_says_hello_is_greeted_a_few_times_and_no_more) {
  Alone one(0ms);
  const std::size_t before = one.node.inner->sent.size();
  for (int i = 0; i < 5; ++i) one.node.link->release_unused(std::chrono::steady_clock::now(), 5s);
  for (int i = 0; i < 5; ++i) one.share_something();
  BOOST_TEST(one.node.inner->sent.size() == before + 3);
  one.up({.high = 1, .low = 7});  // its next life may answer
  one.node.link->release_unused(std::chrono::steady_clock::now(), 5s);
  BOOST_TEST(one.node.inner->sent.size() == before + 5);
}

// Many peers that begin at once find an inbox full, which nobody looks into before something is said.
BOOST_AUTO_TEST_CASE(a_page_that_finds_an_inbox_full_has_it_emptied_and_is_given_again_with_nothing_to_share) {
  Alone one(0ms);
  const auto last_said = [&] { return detail::decode_shared_control(one.node.inner->sent.back().front()).value(); };
  auto inbox = detail::SegmentInbox::open_beside(place_of("its-inbox")).value();
  const detail::SegmentInbox others = detail::SegmentInbox::open_beside(place_of("others")).value();
  const detail::HandedOver ready{.kind = HandOver::ready, .file = {}};
  while (others.send(inbox.place(), ready, -1) == detail::SegmentInbox::Sent::done) continue;
  one.hear({.token = detail::random_inbox_token(), .inbox = inbox.place()});
  BOOST_TEST((last_said().kind == SharedControl::Kind::inbox_full));
  while (const auto what = inbox.receive()) BOOST_TEST((what->kind == HandOver::ready));
  one.node.link->release_unused(std::chrono::steady_clock::now(), 5s);
  BOOST_TEST((last_said().kind == SharedControl::Kind::offered));
  BOOST_TEST((inbox.receive().value().kind == HandOver::page));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing

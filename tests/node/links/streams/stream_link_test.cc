// Large messages over streams: when they are opened, what ends them, and what strangers and lying peers achieve.
#include "node/links/streams/stream_link.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "node/links/zmq_link.h"
#include "tests/node/links/streams/raw_connections.h"
#include "tests/node/links/streams/stream_pair.h"
#include "tests/support/recording_sink.h"

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(stream_link)

using detail::StreamControl;
using testing::cut_connections_to;
using testing::frame_of;
using testing::Meddler;
using testing::Raw;
using testing::RawPort;
using testing::RecordingSink;
using testing::text_of;
using namespace std::chrono_literals;

using testing::Change;
using testing::Pair;
using testing::StreamNode;

/// The port that a node tells in its answer, and what else it says there.
struct Overheard {
  std::mutex mutex;
  StreamControl accept;  // guarded by mutex
  std::function<bool(StreamControl&)> tap() {
    return [this](StreamControl& control) {
      const std::lock_guard lock(mutex);
      if (control.kind == StreamControl::Kind::accept) accept = control;
      return true;
    };
  }
  [[nodiscard]] std::uint16_t port() {
    const std::lock_guard lock(mutex);
    return accept.port;
  }
};

BOOST_AUTO_TEST_CASE(small_packets_open_no_stream) {
  Pair pair;
  for (int i = 0; i < 100; ++i) pair.a.send("b", "small", LinkLane::express);
  pair.b.sink.wait_messages(100);
  BOOST_TEST(pair.a.link->streams().value().out_streams == 0U);
  BOOST_TEST(pair.b.link->streams().value().in_streams == 0U);
  BOOST_TEST(pair.a.link->transports().at("b").text() == "tcp, encrypted (no stream: no large message so far)");
}

BOOST_AUTO_TEST_CASE(large_packets_take_a_stream_whole_and_in_order) {
  for (const bool with_keys : {true, false}) {
    Pair pair(with_keys);
    pair.open();
    pair.b.sink.forget_messages();
    const int before = pair.a.below->bulk;
    for (int i = 0; i < 200; ++i) pair.a.send("b", std::to_string(i) + std::string(100'000, 'x'));
    pair.b.sink.wait_messages(200);
    const auto messages = pair.b.sink.messages();
    for (std::size_t i = 0; i < 200; ++i) {
      BOOST_TEST_REQUIRE(messages[i].frames.size() == 2U);
      BOOST_TEST((messages[i].from == "a" && messages[i].incarnation.low == 1U));
      BOOST_TEST((text_of(messages[i].frames[1]) == std::to_string(i) + std::string(100'000, 'x')));
    }
    BOOST_TEST(pair.a.below->bulk == before);  // none took the link below
    BOOST_TEST(pair.b.link->streams().value().in_streams == 1U);
    BOOST_TEST(pair.a.link->streams().value().in_streams == 0U);  // each direction has its own
    BOOST_TEST(pair.a.link->transports().at("b").text() ==
               (with_keys ? "tcp + stream, encrypted" : "tcp + stream (no shared memory: it listens at tcp, not ipc)"));
  }
}

BOOST_AUTO_TEST_CASE(both_directions_at_once) {
  Pair pair;
  StreamNode& a = pair.a;
  StreamNode& b = pair.b;
  Pair::open_between(a, b, "b");
  Pair::open_between(b, a, "a");
  for (StreamNode* node : {&a, &b}) node->sink.forget_messages();
  const std::pair below{a.below->bulk.load(), b.below->bulk.load()};
  const std::pair streamed{a.link->streams().value().packets_received, b.link->streams().value().packets_received};
  const auto text = [](char from, int i) { return std::to_string(i) + std::string(50'000, from); };
  for (int i = 0; i < 200; ++i) {
    a.send("b", text('a', i));
    b.send("a", text('b', i));
  }
  a.sink.wait_messages(200);
  b.sink.wait_messages(200);
  const auto at_a = a.sink.messages();
  const auto at_b = b.sink.messages();
  for (std::size_t i = 0; i < 200; ++i) {
    BOOST_TEST_REQUIRE((at_a[i].frames.size() == 2U && at_b[i].frames.size() == 2U));
    BOOST_TEST((text_of(at_a[i].frames[1]) == text('b', static_cast<int>(i))));
    BOOST_TEST((text_of(at_b[i].frames[1]) == text('a', static_cast<int>(i))));
  }
  BOOST_TEST((below == std::pair{a.below->bulk.load(), b.below->bulk.load()}));  // none took the links below
  BOOST_TEST(a.link->streams().value().packets_received == streamed.first + 200);
  BOOST_TEST(b.link->streams().value().packets_received == streamed.second + 200);
}

BOOST_AUTO_TEST_CASE(packet_that_is_too_large_for_a_record_takes_the_link_below) {
  Pair pair;
  pair.open();
  const int before = pair.a.below->bulk;
  const std::vector<std::byte> part(detail::kRecordContentMax * 3 / 8);
  pair.a.link->send("b", LinkLane::bulk, {frame_of("header"), make_frame(part), make_frame(part), make_frame(part)});
  pair.b.sink.wait_messages(pair.sent + 1);
  BOOST_TEST(pair.a.below->bulk == before + 1);
}

BOOST_AUTO_TEST_CASE(worn_key_is_replaced_and_nothing_is_lost) {
  Pair pair(true, [](StreamLinkOptions& options) { options.sender.records_max = 5; });
  for (std::size_t i = 1; i <= 100; ++i) {
    pair.a.send("b", std::to_string(i));
    pair.b.sink.wait_messages(i);
  }
  BOOST_TEST(pair.b.link->streams().value().packets_received > 10U);  // of several streams
  BOOST_TEST(pair.a.link->streams().value().packets_sent == pair.b.link->streams().value().packets_received);
  BOOST_TEST(pair.b.link->streams().value().in_streams <= 2U);
  std::vector<std::string> texts;
  for (const auto& message : pair.b.sink.messages()) texts.push_back(text_of(message.frames[1]));
  std::ranges::sort(texts);
  BOOST_TEST((std::ranges::adjacent_find(texts) == texts.end()));
}

BOOST_AUTO_TEST_CASE(stream_that_does_not_open_costs_nothing_but_its_speed) {
  // b says another port, where nobody listens.
  Pair pair(true, {}, {}, {}, [](StreamControl& control) {
    if (control.kind == StreamControl::Kind::accept) control.port = 1;
    return true;
  });
  for (std::size_t i = 1; i <= 50; ++i) {
    pair.a.send("b", "text");
    pair.b.sink.wait_messages(i);
  }
  BOOST_TEST(pair.b.link->streams().value().packets_received == 0U);
  BOOST_TEST(pair.a.logs("the stream to b does not stay open"));
}

BOOST_AUTO_TEST_CASE(host_that_takes_no_connection_is_given_up) {
  // A socket whose queue of connections is full answers nothing, as a firewall.
  const RawPort full(0);
  const Raw first(full.number());
  Pair pair(
      true, [](StreamLinkOptions& options) { options.sender.connect_patience = 50ms; }, {}, {}, full.rewrite());
  pair.a.send("b", "text");
  pair.b.sink.wait_messages(1);
  BOOST_TEST(pair.a.logs("it did not accept a connection"));
}

BOOST_AUTO_TEST_CASE(peer_that_does_not_answer_is_asked_again) {
  std::atomic<int> asked = 0;
  Pair pair(
      true, [](StreamLinkOptions& options) { options.answer_patience = 200ms; }, {},
      [&asked](StreamControl& control) { return control.kind != StreamControl::Kind::open || ++asked > 2; });
  pair.open();
  BOOST_TEST(asked > 2);
}

BOOST_AUTO_TEST_CASE(answer_to_another_question_is_none, *boost::unit_test::label("attack")) {
  std::atomic<int> answers = 0;
  Pair pair(
      true, [](StreamLinkOptions& options) { options.answer_patience = 200ms; }, {}, {},
      [&answers](StreamControl& control) {
        if (control.kind == StreamControl::Kind::accept && ++answers == 1) control.id[0] ^= std::byte{1};
        return true;
      });
  pair.open();
  BOOST_TEST(answers > 1);  // it has asked again
  BOOST_TEST(pair.b.link->streams().value().refused == 0U);
}

BOOST_AUTO_TEST_CASE(peer_whose_streams_are_off_says_so_once) {
  Pair pair(true, {}, [](StreamLinkOptions& options) { options.has_streams = false; });
  for (std::size_t i = 1; i <= 50; ++i) {
    pair.a.send("b", "text");
    pair.b.sink.wait_messages(i);
  }
  BOOST_TEST(pair.a.logs("b accepts no stream"));
  BOOST_TEST(pair.a.link->streams().value().out_streams == 0U);
  BOOST_TEST(!pair.b.link->streams().has_value());
  BOOST_TEST(pair.a.link->transports().at("b").text() == "tcp, encrypted (no stream: its streams are off)");
  BOOST_TEST(pair.b.link->transports().at("a").text() == "tcp, encrypted (no stream: streams are off here)");
  pair.b.send("a", "text");
  pair.a.sink.wait_messages(1);
  BOOST_TEST(pair.a.link->streams().value().in_streams == 0U);
  pair.a.link->stop();
  BOOST_TEST(pair.a.lines.size() == 1U);
  BOOST_TEST(pair.a.lines[0].ends_with(": its streams are off"));
  BOOST_TEST(pair.b.lines.empty());
}

// As a proxy that cannot reach its host.
BOOST_AUTO_TEST_CASE(streams_that_end_at_once_are_opened_less_and_less_often) {
  const RawPort listener(128);
  Pair pair(
      true,
      [](StreamLinkOptions& options) {
        options.retry_min = 10ms;
        options.retry_max = 1h;
      },
      [](StreamLinkOptions& options) { options.receiver.announced_patience = 1ms; }, {}, listener.rewrite());
  std::atomic<bool> over = false;
  std::atomic<int> accepted = 0;
  std::thread proxy([&] {
    while (!over) {
      const detail::FileDescriptor taken = listener.accept();
      ++accepted;
    }
  });
  const auto begin = std::chrono::steady_clock::now();
  for (auto next = begin; next < begin + 1s; next += 1ms) {  // 10, 20, 40 ... 640 ms between streams
    pair.a.send("b", "text");
    while (std::chrono::steady_clock::now() < next) std::this_thread::yield();
  }
  BOOST_TEST(accepted <= 8);
  BOOST_TEST(accepted >= 2);
  BOOST_TEST(pair.a.logs("the stream to b does not stay open"));
  over = true;
  listener.close();
  proxy.join();
}

BOOST_AUTO_TEST_CASE(peer_without_a_port_refuses_and_says_why) {
  const RawPort taken(std::nullopt);
  const std::uint16_t port = taken.number();
  Pair pair(true, {}, [port](StreamLinkOptions& options) { options.receiver.ports = PortRange{port, port}; });
  pair.a.send("b", "text");
  pair.b.sink.wait_messages(1);
  BOOST_TEST(pair.a.logs("no port of " + std::to_string(port) + "-" + std::to_string(port) + " is free"));
}

BOOST_AUTO_TEST_CASE(stream_that_is_cut_is_replaced_and_what_waits_takes_the_link_below) {
  Overheard heard;
  Pair pair(true, {}, {}, {}, heard.tap());
  pair.open();
  const auto before = pair.b.link->streams().value().packets_received;
  const int below = pair.a.below->bulk;
  std::promise<void> may_go_on;
  pair.b.sink.answer_with([gate = may_go_on.get_future().share()](const NodeName&, const Frames&) { gate.wait(); });
  for (int i = 0; i < 100; ++i) pair.a.send("b", std::string(1 << 20, 'x'));  // more than the connection takes
  BOOST_TEST_REQUIRE(cut_connections_to(heard.port()) == 1);
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  while (pair.a.below->bulk < below + 10 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  BOOST_TEST(pair.a.below->bulk >= below + 10);
  may_go_on.set_value();
  pair.b.sink.answer_with({});
  while (pair.b.link->streams().value().packets_received <= before + 20 && std::chrono::steady_clock::now() < deadline)
    pair.a.send("b", "again");
  BOOST_TEST(pair.b.link->streams().value().packets_received > before + 20);
  BOOST_TEST(pair.a.sink.downs().empty());
}

BOOST_AUTO_TEST_CASE(packets_beyond_the_backlog_are_dropped_and_counted) {
  Pair pair(true, [](StreamLinkOptions& options) { options.sender.backlog_bytes_max = 1; });
  pair.open();
  const std::string large(1 << 20, 'x');
  for (int i = 0; i < 200 && pair.a.link->streams().value().dropped == 0; ++i) pair.a.send("b", large);
  BOOST_TEST(pair.a.link->streams().value().dropped > 0U);
}

BOOST_AUTO_TEST_CASE(record_changed_on_its_way_does_not_arrive, *boost::unit_test::label("attack")) {
  // In the id and the proof, the head of the first record, its content, and the tag of a small one.
  for (const std::size_t changed :
       {std::size_t{3}, std::size_t{20}, std::size_t{33}, std::size_t{50}, std::size_t{75}}) {
    Meddler meddler(changed);
    Pair pair(true, {}, {}, {}, meddler.rewrite());
    const auto arrives = [&] { return pair.b.link->streams().value().packets_received > 0; };  // by a later stream
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    while (!pair.b.sink.changes.wait(5ms, arrives) && std::chrono::steady_clock::now() < deadline)
      pair.a.send("b", "open");
    BOOST_TEST_REQUIRE(arrives());
    for (const auto& message : pair.b.sink.messages()) {
      BOOST_TEST_REQUIRE(message.frames.size() == 2U);
      BOOST_TEST(text_of(message.frames[1]) == "open");
    }
    BOOST_TEST(pair.b.link->streams().value().refused == 1U);
    BOOST_TEST(pair.b.sink.downs().empty());
  }
}

BOOST_AUTO_TEST_CASE(nothing_of_a_peer_arrives_after_the_news_that_it_is_down) {
  for (int round = 0; round < 5; ++round) {
    Pair pair;
    pair.open();
    for (int i = 0; i < 100; ++i) pair.a.send("b", std::string(20'000, 'x'));
    pair.b.link->disconnect("a", {});
    pair.b.sink.wait_downs(1);
    const std::size_t messages = pair.b.sink.messages().size();
    BOOST_TEST(pair.b.sink.order().back() == "down a");
    pair.a.sink.wait_downs(1);
    for (int i = 0; i < 10; ++i) pair.a.send("b", "late");
    BOOST_TEST(pair.b.sink.messages().size() == messages);
    BOOST_TEST(pair.a.link->streams().value().out_streams == 0U);
  }
}

BOOST_AUTO_TEST_CASE(stranger_is_closed_after_its_patience_or_its_32_bytes, *boost::unit_test::label("attack")) {
  Overheard heard;
  Pair pair(
      true, {}, [](StreamLinkOptions& options) { options.receiver.proof_patience = 200ms; }, {}, heard.tap());
  pair.open();
  const Raw silent(heard.port());
  const Raw slow(heard.port());
  BOOST_TEST(slow.write("thirty-one bytes are not enough"));
  const Raw loud(heard.port());
  BOOST_TEST(loud.write(std::string(32, 'x')));
  BOOST_TEST(loud.is_closed_within(10s));
  BOOST_TEST(slow.is_closed_within(10s));
  BOOST_TEST(silent.is_closed_within(10s));
  BOOST_TEST(pair.b.logs("it did not say what it is"));
  BOOST_TEST(pair.b.logs("it is no stream that a peer opened"));
  BOOST_TEST(pair.b.link->streams().value().refused >= 3U);
  pair.a.send("b", "still");
  pair.b.sink.wait_messages(pair.sent + 1);
}

BOOST_AUTO_TEST_CASE(id_without_the_key_opens_nothing, *boost::unit_test::label("attack")) {
  // a's stream is announced, and a stranger who has overheard its id connects first.
  Overheard heard;
  Pair pair(true, {}, {}, {}, [tap = heard.tap()](StreamControl& control) {
    (void)tap(control);
    return control.kind != StreamControl::Kind::accept;  // a never learns of it
  });
  pair.a.send("b", "text");
  pair.b.sink.wait_messages(1);
  BOOST_REQUIRE(pair.b.sink.changes.wait(10s, [&] { return heard.port() != 0; }) || heard.port() != 0);
  std::string preamble(32, '\0');
  std::memcpy(preamble.data(), heard.accept.id.data(), heard.accept.id.size());
  const Raw thief(heard.port());
  BOOST_TEST(thief.write(preamble));
  BOOST_TEST(thief.is_closed_within(10s));
  BOOST_TEST(pair.b.link->streams().value().in_streams == 0U);
}

BOOST_AUTO_TEST_CASE(crowd_of_strangers_keeps_no_peer_out, *boost::unit_test::label("attack")) {
  Overheard heard;
  Pair pair(
      true, [](StreamLinkOptions& options) { options.sender.records_max = 3; },
      [](StreamLinkOptions& options) { options.receiver.proof_patience = 10s; }, {}, heard.tap());
  pair.open();
  std::vector<std::unique_ptr<Raw>> crowd;
  for (int i = 0; i < 200; ++i) crowd.push_back(std::make_unique<Raw>(heard.port()));
  const auto received = [&pair] { return pair.b.link->streams().value().packets_received; };
  const auto before = received();
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  // Each stream takes three packets, so others are opened meanwhile; until then packets go without.
  for (std::size_t i = 1; received() <= before + 3 && std::chrono::steady_clock::now() < deadline; ++i) {
    pair.a.send("b", "text");
    pair.b.sink.wait_messages(pair.sent + i);
  }
  BOOST_TEST(received() > before + 3);
  BOOST_TEST(crowd.front()->is_closed_within(10s));  // the oldest ones made room
}

BOOST_AUTO_TEST_CASE(peer_may_not_choose_to_be_unencrypted, *boost::unit_test::label("attack")) {
  const auto plain = [](StreamControl::Kind kind) {
    return [kind](StreamControl& control) {
      if (control.kind == kind) control.ciphers = detail::only(detail::Cipher::none);
      return true;
    };
  };
  Pair offers(true, {}, {}, plain(StreamControl::Kind::open));
  offers.a.send("b", "text");
  BOOST_TEST(offers.a.logs("it offers no cipher that this node takes"));
  Pair chooses(true, {}, {}, {}, plain(StreamControl::Kind::accept));
  chooses.a.send("b", "text");
  BOOST_TEST(chooses.a.logs("it chose a cipher that was not offered"));
  BOOST_TEST(chooses.a.link->streams().value().out_streams == 0U);
}

BOOST_AUTO_TEST_CASE(weak_share_of_a_peer_is_refused, *boost::unit_test::label("attack")) {
  const auto weak = [](StreamControl& control) {
    control.share = {};
    return true;
  };
  Pair opens(true, {}, {}, weak);
  opens.a.send("b", "text");
  BOOST_TEST(opens.a.logs("its share makes no key"));
  Pair accepts(true, {}, {}, {}, weak);
  accepts.a.send("b", "text");
  BOOST_TEST(accepts.a.logs("opens no stream to b: its share makes no key"));
  BOOST_TEST(accepts.a.link->streams().value().refused > 0U);
}

BOOST_AUTO_TEST_CASE(a_stream_that_cannot_be_opened_here_is_logged_once_and_no_fault_of_the_peer) {
  std::atomic<int> answers = 0;  // two accept, the third says that those were not begun
  const auto count = [&answers](const StreamControl& control) {
    if (control.kind != StreamControl::Kind::open) ++answers;
    return true;
  };
  Pair pair(true, {}, {}, {}, count, "tcp://localhost:*");
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  for (std::size_t sent = 1; answers < 3 && std::chrono::steady_clock::now() < deadline; ++sent) {
    pair.a.send("b", "text");
    pair.b.sink.wait_messages(sent);
  }
  BOOST_TEST(answers >= 3);  // it was tried again
  BOOST_TEST(pair.a.logs("opens no stream to b: tcp://localhost:"));
  BOOST_TEST(pair.a.link->streams().value().refused == 0U);
  pair.a.sink.changes.change([&] {
    BOOST_TEST(std::ranges::count_if(pair.a.lines, [](const auto& line) { return line.starts_with("opens"); }) == 1);
  });
}

BOOST_AUTO_TEST_CASE(malformed_and_unasked_messages_are_dropped, *boost::unit_test::label("attack")) {
  Pair pair;
  Frame broken = encode(StreamControl{.kind = StreamControl::Kind::open, .ciphers = 1});
  std::vector<std::byte> bytes(broken.bytes.begin(), broken.bytes.end());
  bytes[60] = std::byte{1};
  pair.a.below->send("b", LinkLane::express, {frame_of("header")});
  pair.b.sink.wait_messages(1);
  pair.a.link->send("b", LinkLane::express, {make_frame(bytes)});
  BOOST_TEST(pair.b.logs("dropped a malformed message about streams of a"));
  pair.a.link->send("b", LinkLane::express,
                    {encode(StreamControl{.kind = StreamControl::Kind::accept, .ciphers = 2, .port = 9})});
  pair.a.link->send("b", LinkLane::express,
                    {encode(StreamControl{.kind = StreamControl::Kind::refuse, .reason = "no"})});
  pair.a.send("b", "last", LinkLane::express);
  pair.b.sink.wait_messages(2);
  BOOST_TEST(pair.b.link->streams().value().out_streams == 0U);
}

/// Sends so many requests to open a stream as a, and begins none. Returns how many b accepted, and why not the last.
std::pair<int, std::string> accepted_of(int requests, const Change& change_b) {
  std::mutex mutex;
  int accepted = 0;
  int answered = 0;
  std::string why;
  const auto count = [&](StreamControl& control) {
    const std::lock_guard lock(mutex);
    ++answered;
    accepted += control.kind == StreamControl::Kind::accept;
    why = control.reason;
    return true;
  };
  Pair pair(true, {}, change_b, {}, count);
  for (int i = 0; i < requests; ++i) {
    StreamControl open{.kind = StreamControl::Kind::open, .ciphers = detail::encrypting_ciphers()};
    open.id = detail::random_stream_id();
    open.share = detail::StreamSecret::random().share();
    pair.a.link->send("b", LinkLane::express, {encode(open)});
  }
  pair.a.send("b", "last", LinkLane::express);
  pair.b.sink.wait_messages(1);
  const std::lock_guard lock(mutex);
  BOOST_TEST(answered == requests);
  return {accepted, why};
}

BOOST_AUTO_TEST_CASE(peer_that_opens_and_begins_none_is_bounded, *boost::unit_test::label("attack")) {
  const auto [accepted, why] =
      accepted_of(100, [](StreamLinkOptions& options) { options.receiver.announced_patience = 1h; });
  BOOST_TEST(accepted == 2);
  BOOST_TEST(why == "it has not begun the streams that it opened before");
}

BOOST_AUTO_TEST_CASE(peer_that_opens_too_often_is_refused, *boost::unit_test::label("attack")) {
  const auto [accepted, why] = accepted_of(5, [](StreamLinkOptions& options) { options.open_gap = 1h; });
  BOOST_TEST(accepted == 1);
  BOOST_TEST(why == "it opens them too often");
}

BOOST_AUTO_TEST_CASE(streams_of_a_key_that_is_replaced_end_at_once_and_new_ones_are_opened,
                     *boost::unit_test::label("attack") * boost::unit_test::label("S12")) {
  for (const bool of_opener : {true, false}) {
    Pair two;
    two.open();
    const std::size_t place = of_opener ? 0 : 1;
    const KeyPair fresh = KeyPair::random();
    std::vector<KeyRing::Member> members = two.rings[0].members();
    members[place].key = fresh.public_key();
    BOOST_REQUIRE(two.rings[0].replace_members(members).ok());
    BOOST_REQUIRE(two.rings[1].replace_members(members).ok());
    two.rings[place].replace_own_keys(fresh);
    const auto due = std::chrono::steady_clock::now() + 10s;
    while (two.b.link->streams().value().in_streams > 0 && std::chrono::steady_clock::now() < due)
      std::this_thread::yield();
    BOOST_TEST(two.b.link->streams().value().in_streams == 0U);
    const std::uint64_t before = two.b.link->streams().value().packets_received;
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    while (two.b.link->streams().value().packets_received == before && std::chrono::steady_clock::now() < deadline) {
      two.a.send("b", "again");
      ++two.sent;
      two.b.sink.wait_messages(two.sent);
    }
    BOOST_TEST(two.b.link->streams().value().packets_received > before);
    BOOST_TEST(two.a.sink.downs().empty());
    BOOST_TEST(two.b.sink.downs().empty());
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe

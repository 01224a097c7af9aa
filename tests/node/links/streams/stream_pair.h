// Two nodes that are only links with streams, and a look at what takes the links below.
#pragma once

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node/keys/key_ring.h"
#include "node/links/streams/stream_link.h"
#include "node/links/zmq_link.h"
#include "tests/support/recording_sink.h"

namespace troupe::testing {

using detail::StreamControl;

using Change = std::function<void(StreamLinkOptions&)>;

/// Counts the packets that take the link below, and lets a test say things as its node.
class Tapped final : public Link {
 public:
  explicit Tapped(std::unique_ptr<Link> inner) : inner_(std::move(inner)) {}
  void start(LinkSink& sink) override { inner_->start(sink); }
  [[nodiscard]] std::string address() const override { return inner_->address(); }
  [[nodiscard]] bool guards_bytes() const override { return inner_->guards_bytes(); }
  void connect(std::string_view address) override { inner_->connect(address); }
  void connect_to(const NodeName& name, std::string_view address) override { inner_->connect_to(name, address); }
  void send(const NodeName& to, LinkLane lane, Frames packet) override {
    if (lane == LinkLane::bulk) ++bulk;
    if (rewrite && detail::is_stream_control(packet)) {
      StreamControl control = detail::decode_stream_control(packet.front()).value();
      if (!rewrite(control)) return;
      packet = {encode(control)};
    }
    inner_->send(to, lane, std::move(packet));
  }
  void disconnect(const NodeName& peer, const Farewell& why) override { inner_->disconnect(peer, why); }
  void stop() override { inner_->stop(); }

  std::atomic<int> bulk = 0;
  std::function<bool(StreamControl&)> rewrite;  ///< set before start; false: it is not sent

 private:
  const std::unique_ptr<Link> inner_;
};

struct StreamNode {
  StreamNode(const NodeName& name, std::uint64_t life, const ClusterSecret& secret, std::optional<KeyRing> keys,
             const Change& change = {}, std::function<bool(StreamControl&)> rewrite = {},
             const std::string& advertise = {}) {
    const Incarnation incarnation{.high = 1, .low = life};
    auto opened = ZmqLink::open({.name = name,
                                 .incarnation = incarnation,
                                 .cluster_id = "streams",
                                 .secret = secret,
                                 .advertise = advertise,
                                 .keys = keys,
                                 .log = {}});
    BOOST_REQUIRE_MESSAGE(opened.ok(), (opened ? "" : opened.error().message));
    auto tapped = std::make_unique<Tapped>(std::move(opened).value());
    below = tapped.get();
    below->rewrite = std::move(rewrite);
    StreamLinkOptions options{
        .name = name,
        .incarnation = incarnation,
        .keys = std::move(keys),
        .receiver = {.host = "127.0.0.1"},
        .log = [this](std::string_view line) { sink.changes.change([&] { lines.emplace_back(line); }); }};
    options.open_gap = std::chrono::milliseconds{0};
    options.retry_min = options.retry_max = std::chrono::milliseconds{10};
    if (change) change(options);
    link = std::make_unique<StreamLink>(std::move(tapped), std::move(options));
    link->start(sink);
  }
  ~StreamNode() { link->stop(); }

  void send(const NodeName& to, std::string_view text, LinkLane lane = LinkLane::bulk) {
    link->send(to, lane, {frame_of("header"), frame_of(text)});
  }
  /// Returns whether a logged line has `part`, once it has; false after ten seconds.
  [[nodiscard]] bool logs(std::string_view part) {
    return sink.changes.wait(std::chrono::seconds{10}, [&] {
      return std::ranges::any_of(lines, [&](const std::string& line) { return line.find(part) != std::string::npos; });
    });
  }

  RecordingSink sink;
  std::vector<std::string> lines;  ///< guarded by the lock of sink.changes
  Tapped* below = nullptr;         ///< owned by link
  std::unique_ptr<StreamLink> link;
};

/// Nodes a and b that know each other, with keys or without.
struct Pair {
  explicit Pair(bool with_keys = true, const Change& change_a = {}, const Change& change_b = {},
                std::function<bool(StreamControl&)> rewrite_a = {}, std::function<bool(StreamControl&)> rewrite_b = {},
                const std::string& advertise_b = {})
      : rings(make_run_keys(std::vector<NodeName>{"a", "b"})),
        a("a", 1, secret, with_keys ? std::optional(rings[0]) : std::nullopt, change_a, std::move(rewrite_a)),
        b("b", 2, secret, with_keys ? std::optional(rings[1]) : std::nullopt, change_b, std::move(rewrite_b),
          advertise_b) {
    a.link->connect_to("b", b.link->address());
    a.sink.wait_ups(1);
    b.sink.wait_ups(1);
  }

  /// Sends packets from a to b until one takes a stream.
  void open() { sent += open_between(a, b, "b"); }

  /// Sends packets from `from` to `to`, whose name is `name`, until one takes a stream. Returns how many.
  static std::size_t open_between(StreamNode& from, StreamNode& to, const NodeName& name) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{10};
    std::size_t count = 0;
    while (to.link->streams().value().packets_received == 0 && std::chrono::steady_clock::now() < deadline) {
      from.send(name, "open");
      to.sink.wait_messages(++count);
    }
    BOOST_TEST_REQUIRE(to.link->streams().value().packets_received > 0U);
    return count;
  }

  const ClusterSecret secret = ClusterSecret::random();
  const std::vector<KeyRing> rings;
  StreamNode a;
  StreamNode b;
  std::size_t sent = 0;  ///< by open
};

}  // namespace troupe::testing

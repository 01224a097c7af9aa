// Nodes that are only links with shared memory, whose packets the test delivers: again, late or never, as it likes.
#pragma once

#include <boost/test/unit_test.hpp>

#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node/links/shared_memory/shared_link.h"
#include "tests/node/links/shared_memory/sharing_nodes.h"
#include "tests/support/recording_sink.h"

namespace troupe::testing {

/// A link whose packets the test delivers, on its own thread.
class LinkByHand final : public Link {
 public:
  void start(LinkSink& to) override { sink = &to; }
  [[nodiscard]] std::string address() const override { return place_; }
  void connect(std::string_view /*address*/) override {}
  void send(const NodeName& /*to*/, LinkLane /*lane*/, Frames packet) override { sent.push_back(std::move(packet)); }
  void disconnect(const NodeName& /*peer*/, const Farewell& /*farewell*/) override {}
  void stop() override {}

  LinkSink* sink = nullptr;
  std::vector<Frames> sent;

 private:
  const std::string place_ = place_of("by-hand");
};

/// Allocates nothing.
class LastFrames final : public LinkSink {
 public:
  void on_link_up(const Peer& /*peer*/) override {}
  void on_frames(const NodeName& /*from*/, Incarnation /*life*/, Frames frames) override { last = std::move(frames); }
  void on_link_down(const NodeName& /*peer*/, Incarnation /*life*/, const Error& /*why*/) override {}
  void on_reach(const NodeName& /*peer*/, Incarnation /*life*/, Reach /*change*/, Duration /*silence*/) override {}
  void on_link_failed(const Error& /*why*/) override {}
  void on_connect_failed(std::string_view /*address*/, const Error& /*why*/) override {}
  Frames last;
};

/// A node of a pair whose packets the test delivers.
struct NodeByHand {
  NodeByHand(const NodeName& name, SharedLinkOptions options) {
    options.name = name;
    options.rings = false;
    auto made = std::make_unique<LinkByHand>();
    inner = made.get();
    link = SharedLink::over(std::move(made), std::move(options)).value();
    link->start(sink);
  }
  LastFrames sink;
  LinkByHand* inner = nullptr;
  std::unique_ptr<SharedLink> link;
};

/// Nodes a and b that can share with each other.
struct TwoByHand {
  explicit TwoByHand(SharedLinkOptions of_a = {}, SharedLinkOptions of_b = {})
      : a("a", std::move(of_a)), b("b", std::move(of_b)) {
    a.inner->sink->on_link_up({.name = "b", .incarnation = life});
    b.inner->sink->on_link_up({.name = "a", .incarnation = life});
    settle();
  }
  /// Delivers what either link has told the other, and its answers.
  void settle() const {
    for (int i = 0; i < 4; ++i) {
      for (Frames& packet : std::exchange(a.inner->sent, {})) deliver(std::move(packet));
      deliver_to_a();
    }
  }
  /// A message for b with these tensors, which are all shared.
  Frames message(const Frames& tensors) const {
    Frames frames{frame_of("header"), frame_of("body")};
    frames.insert(frames.end(), tensors.begin(), tensors.end());
    a.link->share("b", frames);
    for (const Frame& frame : std::span(frames).subspan(2)) BOOST_TEST_REQUIRE((frame.memory == FrameMemory::leased));
    frames.insert(frames.begin(), frame_of("session"));
    return frames;
  }
  /// Returns what a's link makes of a message: the packet for b.
  Frames packet_of(const Frames& message) const {
    a.link->send("b", LinkLane::bulk, message);
    Frames packet = std::move(a.inner->sent.back());
    a.inner->sent.clear();
    return packet;
  }
  void deliver(Frames packet) const { b.inner->sink->on_frames("a", life, std::move(packet)); }
  void deliver_to_a() const {
    for (Frames& packet : std::exchange(b.inner->sent, {})) a.inner->sink->on_frames("b", life, std::move(packet));
  }

  const Incarnation life{.high = 1, .low = 1};
  std::mt19937_64 random{1};
  NodeByHand a;
  NodeByHand b;
};

}  // namespace troupe::testing

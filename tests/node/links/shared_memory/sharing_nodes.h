// Nodes that are only links with shared memory, for tests of such links.
#pragma once

#include <boost/test/unit_test.hpp>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "node/links/shared_memory/shared_link.h"
#include "node/links/zmq_link.h"
#include "tensor/storage.h"
#include "tests/support/recording_sink.h"

namespace troupe::testing {

inline constexpr std::size_t kMib = std::size_t{1} << 20;

inline std::string place_of(const std::string& name) {
  static std::atomic<int> serial = 0;
  return "ipc://@troupe-test-shared-" + std::to_string(::getpid()) + "-" + std::to_string(++serial) + name;
}

inline std::unique_ptr<ZmqLink> inner_link(const NodeName& name, std::uint64_t incarnation,
                                           const ClusterSecret& secret) {
  auto opened = ZmqLink::open({.name = name,
                               .incarnation = {.high = 1, .low = incarnation},
                               .cluster_id = "test",
                               .secret = secret,
                               .bind = place_of(name),
                               .advertise = {},
                               .log = {}});
  BOOST_REQUIRE_MESSAGE(opened.ok(), (opened ? "" : opened.error().message));
  return std::move(opened).value();
}

inline SharedLinkOptions named(const NodeName& name, SharedLinkOptions options) {
  options.name = name;
  return options;
}

struct SharingNode {
  SharingNode(const NodeName& name, std::uint64_t incarnation, const ClusterSecret& secret,
              SharedLinkOptions options = {})
      : link(SharedLink::over(inner_link(name, incarnation, secret), named(name, std::move(options))).value()) {
    link->start(sink);
  }

  /// Sends the tensors of one message, as a session would: after its header, the message's header and its body.
  void send(const NodeName& to, Frames tensors) const {
    Frames message{frame_of("header"), frame_of("body")};
    std::ranges::move(tensors, std::back_inserter(message));
    link->share(to, message);
    message.insert(message.begin(), frame_of("session"));
    link->send(to, LinkLane::express, std::move(message));
  }

  RecordingSink sink;
  std::unique_ptr<SharedLink> link;
};

inline Frame random_frame(std::size_t bytes, std::mt19937_64& random) {
  auto owner = std::make_shared<std::vector<std::byte>>(bytes);
  for (std::size_t i = 0; i < bytes; i += 64) (*owner)[i] = static_cast<std::byte>(random());
  (*owner)[bytes - 1] = static_cast<std::byte>(random());
  return {*owner, owner};
}

inline SharedMemoryUse use_of(const SharingNode& node) { return node.link->shared_memory().value(); }

/// As a message has it: it can keep what is derived from its bytes.
inline Frame frame_of_storage(const Storage& storage) {
  const FrozenBytes frozen = storage.freeze();
  return {frozen.bytes(), frozen.owner(), FrameMemory::own, frozen.derived()};
}

inline std::vector<std::byte> copy_of(const Frame& frame) { return {frame.bytes.begin(), frame.bytes.end()}; }
inline bool equal(const Frame& a, const Frame& b) { return std::ranges::equal(a.bytes, b.bytes); }

/// Waits for what no event tells.
template <class Predicate>
void until(Predicate predicate) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!predicate()) {
    BOOST_REQUIRE(std::chrono::steady_clock::now() < deadline);
    std::this_thread::yield();
  }
}

/// Nodes a and b that are connected and can share with each other.
struct Two {
  explicit Two(SharedLinkOptions of_a = {}, SharedLinkOptions of_b = {})
      : a("a", 1, secret, of_a), b("b", 2, secret, of_b) {
    a.link->connect(b.link->address());
    a.sink.wait_ups(1);
    b.sink.wait_ups(1);
    // What the links tell each other precedes these messages: after two each way both are ready.
    for (std::size_t i = 1; i <= 2; ++i) {
      a.send("b", {});
      b.sink.wait_messages(i);
      b.send("a", {});
      a.sink.wait_messages(i);
    }
    a.sink.forget_messages();
    b.sink.forget_messages();
  }

  /// Sends tensors from a to b and returns them as they arrive.
  Frames pass(Frames tensors) {
    a.send("b", std::move(tensors));
    b.sink.wait_messages(1);
    Frames arrived = std::move(b.sink.messages().front().frames);
    b.sink.forget_messages();
    arrived.erase(arrived.begin(), arrived.begin() + 3);
    return arrived;
  }

  ClusterSecret secret = ClusterSecret::random();
  SharingNode a;
  SharingNode b;
  std::mt19937_64 random{1};
};

/// A peer that speaks to b as it likes.
struct Hostile {
  Hostile() : b("b", 2, secret), link(inner_link("hostile", 3, secret)) {
    link->start(sink);
    link->connect(b.link->address());
    sink.wait_ups(1);
    b.sink.wait_ups(1);
  }
  void say(Frame first) {
    link->send("b", LinkLane::express,
               {std::move(first), frame_of("session"), frame_of("header"), frame_of("body"), frame_of("tensor")});
  }
  /// Everything said so far was read, and nothing of it was delivered.
  void check_refused(std::uint64_t count) {
    link->send("b", LinkLane::express, {frame_of("the last")});
    b.sink.wait_messages(1);
    BOOST_TEST(b.sink.messages().size() == 1U);
    BOOST_TEST(text_of(b.sink.messages()[0].frames[0]) == "the last");
    BOOST_TEST(use_of(b).refused == count);
  }
  ClusterSecret secret = ClusterSecret::random();
  SharingNode b;
  RecordingSink sink;
  std::unique_ptr<ZmqLink> link;
};

}  // namespace troupe::testing

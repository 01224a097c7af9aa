// A link sink that remembers everything it is told.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "actors/link.h"
#include "tests/eventually.h"

namespace troupe::testing {

/// Any thread. What it records is read under `changes`.
class RecordingSink final : public LinkSink {
 public:
  struct Down {
    NodeName peer;
    Incarnation incarnation;
    Error why;
  };
  struct Failure {
    std::string address;
    Error why;
  };
  struct Reached {
    NodeName peer;
    Reach change;
    Duration silence;
  };
  struct Message {
    NodeName from;
    Incarnation incarnation;
    Frames frames;
  };

  void on_link_failed(const Error& why) override {
    changes.change([&] { order.push_back("failed: " + why.text()); });
  }
  void on_link_up(const Peer& peer) override {
    changes.change([&] {
      ups.push_back(peer);
      order.push_back("up " + peer.name);
    });
  }
  void on_frames(const NodeName& from, Incarnation incarnation, Frames frames) override {
    if (answer) answer(from, frames);
    changes.change([&] {
      order.push_back("frames " + from);
      messages.push_back({from, incarnation, std::move(frames)});
    });
  }
  void on_link_down(const NodeName& peer, Incarnation incarnation, const Error& why) override {
    changes.change([&] {
      downs.push_back({peer, incarnation, why});
      order.push_back("down " + peer);
    });
  }
  void on_reach(const NodeName& peer, Incarnation /*incarnation*/, Reach change, Duration silence) override {
    changes.change([&] { reaches.push_back({peer, change, silence}); });
  }
  void on_connect_failed(std::string_view address, const Error& why) override {
    changes.change([&] { failures.push_back({std::string(address), why}); });
  }

  /// "ups: ps0; downs: ps0 connection closed; failures: ...; messages: 3"
  [[nodiscard]] std::string describe() const {
    std::string text = "ups:";
    for (const Peer& peer : ups) text += " " + peer.name;
    text += "; downs:";
    for (const Down& down : downs) text += fmt::format(" {} ({})", down.peer, down.why.message);
    text += "; failures:";
    for (const Failure& failure : failures) text += fmt::format(" {} ({})", failure.address, failure.why.message);
    return text + fmt::format("; messages: {}", messages.size());
  }

  /// Fails the test case when `predicate` does not become true.
  template <class Predicate>
  void wait(Predicate predicate, std::chrono::steady_clock::duration deadline = std::chrono::seconds{10}) const {
    eventually(deadline, changes, predicate, [this] { return describe(); });
  }
  void wait_ups(std::size_t count) const {
    wait([&] { return ups.size() >= count; });
  }
  void wait_downs(std::size_t count) const {
    wait([&] { return downs.size() >= count; });
  }
  void wait_failures(std::size_t count) const {
    wait([&] { return failures.size() >= count; });
  }
  void wait_messages(std::size_t count) const {
    wait([&] { return messages.size() >= count; });
  }

  Changes changes;
  std::vector<Peer> ups;
  std::vector<Down> downs;
  std::vector<Failure> failures;
  std::vector<Reached> reaches;
  std::vector<Message> messages;
  std::vector<std::string> order;

  /// Set before start: called for every message, on the link's thread, before it is recorded.
  std::function<void(const NodeName& from, const Frames& frames)> answer;
};

[[nodiscard]] inline std::string text_of(const Frame& frame) {
  return {reinterpret_cast<const char*>(frame.bytes.data()), frame.bytes.size()};
}

[[nodiscard]] inline Frame frame_of(std::string_view text) {
  auto owner = std::make_shared<const std::string>(text);
  return Frame{.bytes = std::as_bytes(std::span{*owner}), .owner = owner};
}

}  // namespace troupe::testing

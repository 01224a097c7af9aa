// A link sink that records every call.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "actors/link.h"
#include "tests/support/eventually.h"

namespace troupe::testing {

/// Thread-safe.
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
    changes.change([&] { order_.push_back("failed: " + why.text()); });
  }
  void on_link_up(const Peer& peer) override {
    changes.change([&] {
      ups_.push_back(peer);
      order_.push_back("up " + peer.name);
    });
  }
  void on_frames(const NodeName& from, Incarnation incarnation, Frames frames) override {
    if (const auto answer = changes.read([this] { return answer_; })) answer(from, frames);
    changes.change([&] {
      order_.push_back("frames " + from);
      messages_.push_back({from, incarnation, std::move(frames)});
    });
  }
  void on_link_down(const NodeName& peer, Incarnation incarnation, const Error& why) override {
    changes.change([&] {
      downs_.push_back({peer, incarnation, why});
      order_.push_back("down " + peer);
    });
  }
  void on_reach(const NodeName& peer, Incarnation /*incarnation*/, Reach change, Duration silence) override {
    changes.change([&] { reaches_.push_back({peer, change, silence}); });
  }
  void on_connect_failed(std::string_view address, const Error& why) override {
    changes.change([&] { failures_.push_back({std::string(address), why}); });
  }

  /// "ups: ps0; downs: ps0 connection closed; failures: ...; messages: 3"
  [[nodiscard]] std::string describe() const {
    std::string text = "ups:";
    for (const Peer& peer : ups_) text += " " + peer.name;
    text += "; downs:";
    for (const Down& down : downs_) text += fmt::format(" {} ({})", down.peer, down.why.message);
    text += "; failures:";
    for (const Failure& failure : failures_) text += fmt::format(" {} ({})", failure.address, failure.why.message);
    return text + fmt::format("; messages: {}", messages_.size());
  }

  /// Fails the test case if `predicate` does not become true.
  template <class Predicate>
  void wait(Predicate predicate, std::chrono::steady_clock::duration deadline = std::chrono::seconds{10}) const {
    eventually(deadline, changes, predicate, [this] { return describe(); });
  }
  void wait_ups(std::size_t count) const {
    wait([&] { return ups_.size() >= count; });
  }
  void wait_downs(std::size_t count) const {
    wait([&] { return downs_.size() >= count; });
  }
  void wait_failures(std::size_t count) const {
    wait([&] { return failures_.size() >= count; });
  }
  void wait_messages(std::size_t count) const {
    wait([&] { return messages_.size() >= count; });
  }

  // The recorded calls, in the order of their arrival.
  [[nodiscard]] std::vector<Peer> ups() const { return copy_of(ups_); }
  [[nodiscard]] std::vector<Down> downs() const { return copy_of(downs_); }
  [[nodiscard]] std::vector<Failure> failures() const { return copy_of(failures_); }
  [[nodiscard]] std::vector<Reached> reaches() const { return copy_of(reaches_); }
  [[nodiscard]] std::vector<Message> messages() const { return copy_of(messages_); }
  [[nodiscard]] std::vector<std::string> order() const { return copy_of(order_); }
  void forget_messages() {
    changes.change([this] { messages_.clear(); });
  }

  Changes changes;

  using Answer = std::function<void(const NodeName& from, const Frames& frames)>;

  /// Calls `answer` for every later message, on the link's thread, before the message is recorded.
  void answer_with(Answer answer) {
    changes.change([&] { answer_ = std::move(answer); });
  }

 private:
  template <class T>
  [[nodiscard]] std::vector<T> copy_of(const std::vector<T>& all) const {
    return changes.read([&all] { return all; });
  }

  // Guarded by the lock of `changes`.
  Answer answer_;
  std::vector<Peer> ups_;
  std::vector<Down> downs_;
  std::vector<Failure> failures_;
  std::vector<Reached> reaches_;
  std::vector<Message> messages_;
  std::vector<std::string> order_;
};

[[nodiscard]] inline std::string text_of(const Frame& frame) {
  return {reinterpret_cast<const char*>(frame.bytes.data()), frame.bytes.size()};
}

[[nodiscard]] inline Frame frame_of(std::string_view text) {
  auto owner = std::make_shared<const std::string>(text);
  return Frame{.bytes = std::as_bytes(std::span{*owner}), .owner = owner};
}

}  // namespace troupe::testing

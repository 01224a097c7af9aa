// A link that loses and delays messages, in real time: for clusters of nodes in one process (LocalClusterOptions), if a
// whole simulated world is more than a test needs.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

#include "actors/link.h"
#include "node/local_cluster.h"

namespace troupe::sim {

/// The fate of one message: the delay of its delivery, or nullopt: it is lost.
using Fate = std::optional<std::chrono::microseconds>;

/// Decides for each message sent; frame 0 is the session's. Called by one thread at a time for each link.
using DecideFate = std::function<Fate(const NodeName& to, const Frames& frames)>;

/// Thread rule: any thread may call any member, as of every link.
class FaultyLink final : public Link {
 public:
  FaultyLink(std::unique_ptr<Link> inner, DecideFate decide);
  ~FaultyLink() override;

  void start(LinkSink& sink) override { inner_->start(sink); }
  [[nodiscard]] std::string address() const override { return inner_->address(); }
  [[nodiscard]] bool guards_bytes() const override { return inner_->guards_bytes(); }
  void connect(std::string_view address) override { inner_->connect(address); }
  [[nodiscard]] bool shares_memory() const override { return inner_->shares_memory(); }
  void send(const NodeName& to, LinkLane lane, Frames packet) override;
  void disconnect(const NodeName& peer, const Farewell& farewell) override { inner_->disconnect(peer, farewell); }
  void stop() override;

 private:
  using Instant = std::chrono::steady_clock::time_point;
  struct Held {
    Instant due;
    std::uint64_t order;  // equal delays keep the order of sending
    NodeName to;
    LinkLane lane;
    Frames frames;
    friend bool operator>(const Held& a, const Held& b) { return std::tie(a.due, a.order) > std::tie(b.due, b.order); }
  };

  void deliver();

  std::unique_ptr<Link> inner_;
  std::mutex mutex_;
  std::condition_variable changed_;
  DecideFate decide_;                                                  // guarded by mutex_
  std::priority_queue<Held, std::vector<Held>, std::greater<>> held_;  // guarded by mutex_
  std::uint64_t sent_ = 0;                                             // guarded by mutex_
  bool stopped_ = false;                                               // guarded by mutex_
  std::thread thread_;
};

/// Faults for messages of one type. Those that share a packet with them have the same: it is lost while any of its
/// messages is to be, and takes the longest delay.
struct FaultRule {
  std::string message;                 ///< its name in WIRE.md: "Call", "RRefForked"
  int fail_first = 0;                  ///< the first so many transmissions of each message are lost
  std::chrono::milliseconds delay{0};  ///< of the transmissions that are not lost
};

/// The rules of one cluster; each node's link counts separately. Immutable; copies are cheap.
class FaultRules {
 public:
  /// Throws std::invalid_argument for an unknown or repeated message name, or a negative number or delay.
  explicit FaultRules(std::vector<FaultRule> rules);

  [[nodiscard]] const std::vector<FaultRule>& list() const { return rules_; }

  /// Returns the decisions of a FaultyLink under these rules.
  [[nodiscard]] DecideFate decide() const;

  /// Returns options for clusters whose links all follow the rules.
  [[nodiscard]] LocalClusterOptions options() const;

 private:
  std::vector<FaultRule> rules_;
};

}  // namespace troupe::sim

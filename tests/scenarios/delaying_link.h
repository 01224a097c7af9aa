// A link that holds every message for a random time: messages overtake each other, between peers and on one connection.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <queue>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "actors/link.h"
#include "node/local_cluster.h"

namespace troupe::testing {

class DelayingLink final : public Link {
 public:
  /// Delays of 0 to `delay_max`, drawn from `seed`.
  DelayingLink(std::unique_ptr<Link> inner, std::uint64_t seed, std::chrono::microseconds delay_max);
  ~DelayingLink() override;

  void start(LinkSink& sink) override { inner_->start(sink); }
  [[nodiscard]] std::string address() const override { return inner_->address(); }
  void connect(std::string_view address) override { inner_->connect(address); }
  void send(const NodeName& to, Frames frames) override;
  void disconnect(const NodeName& peer) override { inner_->disconnect(peer); }
  void stop() override;

 private:
  using Instant = std::chrono::steady_clock::time_point;
  struct Held {
    Instant due;
    NodeName to;
    Frames frames;
    friend bool operator>(const Held& a, const Held& b) { return a.due > b.due; }
  };

  void deliver();

  std::unique_ptr<Link> inner_;
  const std::chrono::microseconds delay_max_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::mt19937_64 random_;                                               // guarded by mutex_
  std::priority_queue<Held, std::vector<Held>, std::greater<>> held_;    // guarded by mutex_
  bool stopped_ = false;                                                 // guarded by mutex_
  std::thread thread_;
};

/// For clusters whose links delay by 0 to `delay_max`, each by draws of its own from `seed`.
[[nodiscard]] LocalClusterOptions random_delays(std::uint64_t seed, std::chrono::microseconds delay_max);

}  // namespace troupe::testing

// Three processes, each behind a proxy, whose processes stall and whose connections break while they are under load.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "tests/chaos/byte_proxy.h"
#include "tests/conformance/test_cluster.h"

namespace troupe::testing {

/// Ends the waits of all threads at once. Thread-safe.
class Whistle {
 public:
  void blow();
  [[nodiscard]] bool blown() const { return blown_; }
  /// Waits for `time`, or until the end.
  void wait_for(std::chrono::steady_clock::duration time);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> blown_ = false;
};

/// The processes p1, p2 and p3, and the trainer in this process.
class SoakCluster {
 public:
  static constexpr std::array kNames{"p1", "p2", "p3"};

  /// `log_level`: of all nodes; unchanged if empty.
  explicit SoakCluster(const std::string& log_level = {});

  [[nodiscard]] Node& trainer() { return cluster_->trainer(); }

  /// Runs `load`, which returns soon after the whistle, for `time`. Meanwhile processes stall for 0.5 to 2 s, less than
  /// their lease, and sometimes all connections to one node break. When it returns, all calls have ended.
  void run(std::chrono::seconds time, std::uint32_t seed, const std::function<void(Whistle&)>& load);

  /// Returns the memory of the processes in MiB, once no tensor is left on any node and cached memory is returned.
  [[nodiscard]] std::map<std::string, std::size_t> resident_mib();

  [[nodiscard]] int deaths() const { return deaths_; }
  [[nodiscard]] int stalls() const { return stalls_; }
  [[nodiscard]] int cuts() const { return cuts_; }

 private:
  void disturb(Whistle& end, std::uint32_t seed);

  std::array<ByteProxy, kNames.size()> wires_;
  std::unique_ptr<TestCluster> cluster_;
  std::atomic<int> deaths_ = 0;  // of members, as the trainer saw them
  std::atomic<int> stalls_ = 0;
  std::atomic<int> cuts_ = 0;
};

/// Returns the seconds that the command line names after "--"; 600 by default.
[[nodiscard]] std::chrono::seconds time_of_this_soak();

/// Prints "p1 120 p2 118", the memory of each process in MiB.
[[nodiscard]] std::string text_of(const std::map<std::string, std::size_t>& resident_mib);

}  // namespace troupe::testing

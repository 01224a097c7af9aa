// A cluster at full load whose processes stall and whose connections break, for a given time: `./dev soak 600`.
#include <boost/test/unit_test.hpp>

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "tensor/create.h"
#include "tests/chaos/byte_proxy.h"
#include "tests/chaos/process_use.h"
#include "tests/conformance/load_functions.h"
#include "tests/conformance/test_cluster.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(soak, *boost::unit_test::disabled())

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::array kNames{"p1", "p2", "p3"};
constexpr auto kDeadline = 120s;
constexpr auto kGivenBack = 60s;

/// Ends the waits of all threads at once.
class Whistle {
 public:
  void blow() {
    const std::lock_guard lock(mutex_);
    blown_ = true;
    changed_.notify_all();
  }
  [[nodiscard]] bool blown() const { return blown_; }
  /// Waits for `time`, or until the end.
  void wait_for(Clock::duration time) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, time, [this] { return blown_.load(); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> blown_ = false;
};

/// The observations of one phase's callers. Thread-safe.
struct Tally {
  std::atomic<std::uint64_t> small = 0;
  std::atomic<std::uint64_t> bulk = 0;
  std::atomic<std::uint64_t> bulk_mib = 0;
  std::atomic<std::uint64_t> endless = 0;
  std::mutex mutex;
  std::map<std::string, int> failures;  // guarded by mutex

  template <class T>
  bool take(const Future<T>& call) {
    const auto result = call.get_for(kDeadline + 10s);
    if (!result) {
      ++endless;
      return false;
    }
    if (*result) return true;
    const std::lock_guard lock(mutex);
    ++failures[result->error().text()];
    return false;
  }
};

/// Three processes, each behind a proxy, and the trainer in this process.
struct Soak {
  Soak() {
    ProcessPlan plan;
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      plan.others.push_back({.name = kNames[i], .bind = wires[i].target(), .advertise = wires[i].address()});
    }
    cluster = std::make_unique<TestCluster>(std::move(plan));
    cluster->trainer().on_down([this](const Peer&, const Error&) { ++deaths; });
  }

  void call_small(Whistle& end, Tally& tally, std::uint32_t seed) {
    std::mt19937 random(seed);
    const Scope scope = cluster->trainer().with({.deadline = kDeadline});
    while (!end.blown()) {
      const char* const name = kNames[random() % kNames.size()];
      const char* const other = kNames[random() % kNames.size()];
      if (tally.take(scope.rpc_async(name, &square_often, other, 20))) tally.small += 20;
    }
  }
  void call_bulk(Whistle& end, Tally& tally, std::uint32_t seed) {
    std::mt19937 random(seed);
    const Scope scope = cluster->trainer().with({.deadline = kDeadline});
    while (!end.blown()) {
      const std::int64_t mib = 64 + static_cast<std::int64_t>(random() % 449);
      const std::int64_t floats = (mib << 20) / 4;
      const char* const name = kNames[random() % kNames.size()];
      const bool done = random() % 2 == 0 ? tally.take(scope.rpc_async(name, &count_elements, zeros({floats})))
                                          : tally.take(scope.rpc_async(name, &filled, floats, 1.0));
      if (!done) continue;
      ++tally.bulk;
      tally.bulk_mib += static_cast<std::uint64_t>(mib);
    }
  }
  /// Stalls processes for 0.5 to 2 s, and sometimes breaks all connections to one node.
  void disturb(Whistle& end, std::uint32_t seed) {
    std::mt19937 random(seed);
    while (!end.blown()) {
      end.wait_for(std::chrono::milliseconds(500 + random() % 2500));
      const std::size_t which = random() % kNames.size();
      if (random() % 3 == 0) {
        wires[which].cut();
        ++cuts;
      } else {
        cluster->signal(kNames[which], SIGSTOP);
        end.wait_for(std::chrono::milliseconds(500 + random() % 1500));
        cluster->signal(kNames[which], SIGCONT);
        ++stalls;
      }
    }
  }
  /// Applies load for `time`. When it returns, all calls have ended.
  void run(std::chrono::seconds time, Tally& tally, std::uint32_t seed) {
    Whistle end;
    {
      std::vector<std::jthread> callers;
      callers.emplace_back([&] { call_small(end, tally, seed + 1); });
      callers.emplace_back([&] { call_small(end, tally, seed + 2); });
      callers.emplace_back([&] { call_bulk(end, tally, seed + 3); });
      std::jthread disturber([&] { disturb(end, seed + 4); });
      end.wait_for(time);
      end.blow();
    }
    cluster->expect_settled();
  }
  /// Returns the memory of the processes after they have released cached tensor memory.
  std::map<std::string, std::size_t> resident_mib() {
    const auto due = Clock::now() + kGivenBack;
    const auto bytes = [this] {
      std::uint64_t sum = bytes_of_tensors();
      for (const char* name : kNames) sum += cluster->trainer().rpc_sync(name, &bytes_of_tensors);
      return sum;
    };
    while (bytes() != 0 && Clock::now() < due) std::this_thread::yield();
    BOOST_TEST(bytes() == 0U);
    std::map<std::string, std::size_t> found{{"trainer", process_use(getpid()).resident_bytes >> 20}};
    for (const char* name : kNames) found[name] = process_use(cluster->process(name).pid()).resident_bytes >> 20;
    return found;
  }

  std::array<ByteProxy, kNames.size()> wires;
  std::unique_ptr<TestCluster> cluster;
  std::atomic<int> deaths = 0;
  std::atomic<int> stalls = 0;
  std::atomic<int> cuts = 0;
};

std::chrono::seconds time_of_this_run() {
  const auto& suite = boost::unit_test::framework::master_test_suite();
  return std::chrono::seconds(suite.argc > 1 ? std::stoi(suite.argv[1]) : 600);
}

void report(const char* when, const Tally& tally, const std::map<std::string, std::size_t>& resident) {
  std::cout << fmt::format("soak: {}: {} small calls, {} bulk of {} MiB in all; resident MiB:", when,
                           tally.small.load(), tally.bulk.load(), tally.bulk_mib.load());
  for (const auto& [name, mib] : resident) std::cout << ' ' << name << ' ' << mib;
  std::cout << std::endl;
}

}  // namespace

BOOST_AUTO_TEST_CASE(loaded_cluster_that_stalls_and_breaks_loses_no_member_no_call_and_no_memory) {
  const std::chrono::seconds time = time_of_this_run();
  const std::uint32_t seed = std::random_device{}();
  BOOST_TEST_MESSAGE("seed " << seed);
  Soak soak;
  Tally tally;
  soak.run(std::min(time, 60s), tally, seed);
  const auto first = soak.resident_mib();
  report("after the first minute", tally, first);
  soak.run(std::max(time - 60s, 1s), tally, seed + 10);
  const auto last = soak.resident_mib();
  report("at the end", tally, last);
  std::cout << fmt::format("soak: {} stalls, {} cuts, {} members lost, {} calls without an end, seed {}\n",
                           soak.stalls.load(), soak.cuts.load(), soak.deaths.load(), tally.endless.load(), seed);
  for (const auto& [text, count] : tally.failures) BOOST_ERROR(count << " x " << text);
  BOOST_TEST(soak.deaths == 0);
  BOOST_TEST(tally.endless == 0U);
  for (const auto& [name, mib] : first)
    BOOST_TEST(static_cast<double>(last.at(name)) <= 1.1 * static_cast<double>(mib), name);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing

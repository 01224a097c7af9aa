// A cluster at full load whose processes stall and whose connections break, for a given time: `./dev soak 600`.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "tensor/create.h"
#include "tests/chaos/soak_cluster.h"
#include "tests/conformance/load_functions.h"
#include "tests/conformance/mixed_load.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(soak, *boost::unit_test::disabled())

namespace {

using namespace std::chrono_literals;

constexpr auto kDeadline = 120s;

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

const char* one_of_the_processes(std::mt19937& random) {
  return SoakCluster::kNames[random() % SoakCluster::kNames.size()];
}

void call_small(const Node& trainer, Whistle& end, Tally& tally, std::uint32_t seed) {
  std::mt19937 random(seed);
  const Scope scope = trainer.with({.deadline = kDeadline});
  while (!end.blown()) {
    const char* const name = one_of_the_processes(random);
    if (tally.take(scope.rpc_async(name, &square_often, one_of_the_processes(random), 20))) tally.small += 20;
  }
}

void call_bulk(const Node& trainer, Whistle& end, Tally& tally, std::uint32_t seed) {
  std::mt19937 random(seed);
  const Scope scope = trainer.with({.deadline = kDeadline});
  while (!end.blown()) {
    const std::int64_t mib = 64 + static_cast<std::int64_t>(random() % 449);
    const std::int64_t floats = (mib << 20) / 4;
    const char* const name = one_of_the_processes(random);
    const bool done = random() % 2 == 0 ? tally.take(scope.rpc_async(name, &count_elements, zeros({floats})))
                                        : tally.take(scope.rpc_async(name, &filled, floats, 1.0));
    if (!done) continue;
    ++tally.bulk;
    tally.bulk_mib += static_cast<std::uint64_t>(mib);
  }
}

void call_all(const Node& trainer, Whistle& end, Tally& tally, std::uint32_t seed) {
  const std::jthread first([&] { call_small(trainer, end, tally, seed + 1); });
  const std::jthread second([&] { call_small(trainer, end, tally, seed + 2); });
  call_bulk(trainer, end, tally, seed + 3);
}

void report(const char* when, const Tally& tally, const std::map<std::string, std::size_t>& resident) {
  std::cout << fmt::format("soak: {}: {} small calls, {} bulk of {} MiB in all; resident MiB: {}", when,
                           tally.small.load(), tally.bulk.load(), tally.bulk_mib.load(), text_of(resident))
            << std::endl;
}

void expect_no_more(const std::map<std::string, std::size_t>& last, const std::map<std::string, std::size_t>& first) {
  for (const auto& [name, mib] : first)
    BOOST_TEST(static_cast<double>(last.at(name)) <= 1.1 * static_cast<double>(mib), name);
}

void expect_disturbed(const SoakCluster& cluster, std::chrono::seconds time) {
  if (time >= 300s) BOOST_TEST((cluster.stalls() > 0 && cluster.cuts() > 0));  // of some hundred disturbances
}

}  // namespace

BOOST_AUTO_TEST_CASE(loaded_cluster_that_stalls_and_breaks_loses_no_member_no_call_and_no_memory) {
  const std::chrono::seconds time = time_of_this_soak();
  const std::uint32_t seed = std::random_device{}();
  BOOST_TEST_MESSAGE("seed " << seed);
  SoakCluster cluster;
  Tally tally;
  cluster.run(std::min(time, 60s), seed, [&](Whistle& end) { call_all(cluster.trainer(), end, tally, seed); });
  const auto first = cluster.resident_mib();
  report("after the first minute", tally, first);
  cluster.run(std::max(time - 60s, 1s), seed + 10,
              [&](Whistle& end) { call_all(cluster.trainer(), end, tally, seed + 10); });
  const auto last = cluster.resident_mib();
  report("at the end", tally, last);
  std::cout << fmt::format("soak: {} stalls, {} cuts, {} members lost, {} calls without an end, seed {}\n",
                           cluster.stalls(), cluster.cuts(), cluster.deaths(), tally.endless.load(), seed);
  for (const auto& [text, count] : tally.failures) BOOST_ERROR(count << " x " << text);
  BOOST_TEST(cluster.deaths() == 0);
  BOOST_TEST(tally.endless == 0U);
  BOOST_TEST(tally.small > 0U);
  expect_disturbed(cluster, time);
  expect_no_more(last, first);
}

BOOST_AUTO_TEST_CASE(all_that_troupe_does_gives_right_results_while_processes_stall_and_connections_break) {
  const std::chrono::seconds time = time_of_this_soak();
  const std::uint32_t seed = std::random_device{}();
  BOOST_TEST_MESSAGE("seed " << seed);
  SoakCluster cluster("error");  // many activities fail on purpose
  MixedTally tally;
  const MixedActivities activities = mixed_activities(std::int64_t{64} << 20);
  const auto run = [&](std::chrono::seconds for_time, std::uint32_t own_seed) {
    cluster.run(for_time, own_seed, [&](Whistle& end) {
      run_mixed_load(cluster.trainer(), activities, 5, own_seed, tally, [&] { return !end.blown(); });
    });
    return cluster.resident_mib();
  };
  const auto first = run(std::min(time, 60s), seed);
  const auto last = run(std::max(time - 60s, 1s), seed + 10);
  for (const auto& [activity, times] : tally.done()) std::cout << fmt::format("soak: {} x {}\n", times, activity);
  std::cout << fmt::format("soak: resident MiB: {}, at first {}\n", text_of(last), text_of(first));
  std::cout << fmt::format("soak: {} stalls, {} cuts, {} members lost, seed {}\n", cluster.stalls(), cluster.cuts(),
                           cluster.deaths(), seed);
  for (const auto& [failure, times] : tally.failures()) BOOST_ERROR(times << " x " << failure);
  BOOST_TEST(cluster.deaths() == 0);
  expect_disturbed(cluster, time);
  expect_no_more(last, first);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing

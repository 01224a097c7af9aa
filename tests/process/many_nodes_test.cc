// Many nodes on one host: they start together, know each other, and end together.
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "tests/conformance/test_cluster.h"

namespace troupe::testing {
namespace {

BOOST_AUTO_TEST_SUITE(many_nodes)

using Seconds = std::chrono::duration<double>;

/// Starts `nodes` nodes, lets each call its neighbour, and ends them all. Reports the times of start and end.
void start_call_and_end(int nodes, Backend backend) {
  std::vector<NodeName> names;
  for (int i = 1; i < nodes; ++i) names.push_back(fmt::format("n{}", i));
  const auto begin = std::chrono::steady_clock::now();
  auto cluster = std::make_unique<TestCluster>(names, PoolOptions{}, backend);
  const Seconds start = std::chrono::steady_clock::now() - begin;
  Node& trainer = cluster->trainer();
  BOOST_TEST(trainer.infos().size() == static_cast<std::size_t>(nodes));
  std::vector<Future<std::int64_t>> calls;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const NodeName& neighbour = i + 1 < names.size() ? names[i + 1] : trainer.name();
    calls.push_back(trainer.rpc_async(names[i], &square_on_and_one, neighbour, static_cast<std::int64_t>(i)));
  }
  for (std::size_t i = 0; i < calls.size(); ++i) BOOST_TEST(calls[i].get() == static_cast<std::int64_t>(i * i + 1));
  const auto end = std::chrono::steady_clock::now();
  cluster.reset();
  const Seconds shutdown = std::chrono::steady_clock::now() - end;
  BOOST_TEST_MESSAGE(fmt::format("{} nodes, {}: start {:.2f} s, shutdown {:.2f} s", nodes,
                                 backend == Backend::local ? "one process" : "a process each", start.count(),
                                 shutdown.count()));
}

BOOST_AUTO_TEST_CASE(sixty_four_nodes_of_one_process_start_call_and_end) { start_call_and_end(64, Backend::local); }

BOOST_AUTO_TEST_CASE(sixty_four_processes_start_call_and_end) { start_call_and_end(64, Backend::ipc); }

BOOST_AUTO_TEST_CASE(sixteen_processes_over_tcp_start_call_and_end) { start_call_and_end(16, Backend::tcp); }

BOOST_AUTO_TEST_CASE(sixty_four_processes_with_keys_start_call_and_end) { start_call_and_end(64, Backend::keys); }

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing

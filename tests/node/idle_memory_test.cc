#include "node/idle_memory.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <thread>

#include "node/local_cluster.h"

namespace troupe::detail {
namespace {

BOOST_AUTO_TEST_SUITE(idle_memory)

using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(what_tensors_need_no_more_goes_back_while_nodes_run_and_what_they_use_stays) {
  constexpr std::size_t kSize = std::size_t{200} << 20U;
  CachingAllocator memory;
  LocalCluster cluster{{"a", "b"}, FunctionRegistry{}};
  return_idle_memory(cluster.node("a").shared_state()->node, memory, 1ms);
  return_idle_memory(cluster.node("b").shared_state()->node, memory, 1ms);
  std::byte* const used = memory.allocate(kSize);
  for (int i = 0; i < 2; ++i) {
    memory.deallocate(memory.allocate(kSize), kSize);
    const auto due = std::chrono::steady_clock::now() + 10s;
    while (memory.statistics().bytes_cached != 0 && std::chrono::steady_clock::now() < due) std::this_thread::yield();
    BOOST_TEST(memory.statistics().bytes_cached == 0U);
    BOOST_TEST(memory.statistics().bytes_live == kSize);
  }
  memory.deallocate(used, kSize);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail

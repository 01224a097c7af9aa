// Resource shortage: the call that needs the missing resource fails, and the node continues.
#include <boost/test/unit_test.hpp>

#include <sys/resource.h>

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "tensor/create.h"
#include "tests/chaos/capabilities.h"
#include "tests/chaos/process_use.h"
#include "tests/conformance/load_functions.h"
#include "tests/conformance/test_cluster.h"

namespace troupe::testing {
namespace {

BOOST_AUTO_TEST_SUITE(shortage, *boost::unit_test::label("chaos"))

using namespace std::chrono_literals;
using boost::unit_test::label;
using boost::unit_test::precondition;

BOOST_AUTO_TEST_CASE(call_that_does_not_fit_into_memory_fails_alone, *precondition(NeedsMemoryLimit{})) {
  TestCluster cluster(ProcessPlan{.others = {{.name = "p1"}}});
  Node& trainer = cluster.trainer();
  const NodeProcess& p1 = cluster.process("p1");
  const Tensor large = zeros({30'000'000});
  p1.limit(RLIMIT_AS, process_use(p1.pid()).virtual_bytes + (40 << 20));
  const Future<std::int64_t> call = trainer.rpc_async("p1", &count_elements, large);
  const auto result = call.get_for(20s);
  BOOST_TEST_REQUIRE(result.has_value(), "the call has no end");
  BOOST_TEST_REQUIRE(!result->ok());
  BOOST_TEST(result->error().code == ErrorCode::resource_exhausted, result->error().text());
  BOOST_TEST(trainer.rpc_sync("p1", &square, 3) == 9);
  p1.limit(RLIMIT_AS, RLIM_INFINITY);
  BOOST_TEST(trainer.rpc_sync("p1", &count_elements, large) == 30'000'000);
}

BOOST_AUTO_TEST_CASE(node_without_a_free_descriptor_still_serves_those_who_are_there) {
  TestCluster cluster(ProcessPlan{.others = {{.name = "p1"}}});
  Node& trainer = cluster.trainer();
  const NodeProcess& p1 = cluster.process("p1");
  p1.limit(RLIMIT_NOFILE, process_use(p1.pid()).descriptors);
  for (int i = 0; i < 20; ++i)
    BOOST_TEST(trainer.with({.deadline = 10s}).rpc_sync("p1", &filled, 100'000, 1.0).numel() == 100'000);
  p1.limit(RLIMIT_NOFILE, 1024);
  BOOST_TEST(trainer.rpc_sync("p1", &square, 3) == 9);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing

// Cases that fail: what they ask for is not there. Not counted by `./dev chaos`; each moves to the suite of its subject with
// the change that makes it pass.
#include <boost/test/unit_test.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tensor/create.h"
#include "tests/chaos/byte_proxy.h"
#include "tests/chaos/capabilities.h"
#include "tests/chaos/process_use.h"
#include "tests/conformance/load_functions.h"
#include "tests/conformance/test_cluster.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using boost::unit_test::label;
using boost::unit_test::precondition;

constexpr std::size_t kMiB = 1 << 20;

/// So many floats take so many MiB.
constexpr std::int64_t floats_of(std::int64_t mib) { return (mib << 20) / 4; }

Tensor tensor_of(std::int64_t mib) { return zeros({floats_of(mib)}); }

/// The trainer's own address lies behind `wire`.
NodeOptions trainer_behind(const ByteProxy& wire) {
  NodeOptions options;
  options.bind = wire.target();
  options.link_options["advertise"] = wire.address();
  return options;
}

BOOST_AUTO_TEST_SUITE(awaited)

BOOST_AUTO_TEST_CASE(small_call_behind_a_tensor_above_1_gib_is_served, *precondition(NeedsMemory{6000 * kMiB})) {
  TestCluster cluster(ProcessPlan{.others = {{.name = "p1"}}});
  Node& trainer = cluster.trainer();
  const Future<std::int64_t> large = trainer.rpc_async("p1", &count_elements, tensor_of(1100));
  BOOST_TEST(trainer.rpc_sync("p1", &square, 3) == 9);
  BOOST_TEST(large.get() == floats_of(1100));
}

BOOST_AUTO_TEST_CASE(answers_to_a_peer_that_reads_slowly_are_bounded, *precondition(NeedsMemory{3000 * kMiB})) {
  ByteProxy wire;
  TestCluster cluster(ProcessPlan{.others = {{.name = "p1"}}, .trainer = trainer_behind(wire)});
  Node& trainer = cluster.trainer();
  const pid_t p1 = cluster.process("p1").pid();
  const std::size_t before = process_use(p1).resident_bytes;
  wire.there().throttle(4'000'000);
  std::vector<Future<Tensor>> answers;
  for (int i = 0; i < 110; ++i) answers.push_back(trainer.rpc_async("p1", &filled, floats_of(8), 1.0));
  BOOST_TEST(!answers.back().get_for(5s).has_value());
  const std::size_t held = process_use(p1).resident_bytes_max - before;
  BOOST_TEST(held < 500 * kMiB, "held " << held / kMiB << " MiB of 880");
  wire.there().throttle(0);
  for (const Future<Tensor>& answer : answers) BOOST_TEST(answer.get().numel() == floats_of(8));
}

BOOST_AUTO_TEST_CASE(node_that_is_refused_threads_answers_all_calls_and_goes_on, *precondition(NeedsRoot{}) * label("privileged")) {
  // A user that has no other process. Numbers of processes are below 2^22.
  const auto user = static_cast<uid_t>((1 << 22) + getpid());
  TestCluster cluster(ProcessPlan{.others = {{.name = "p1", .pool = {.threads = 2, .threads_max = 64}, .user = user}}});
  Node& trainer = cluster.trainer();
  const NodeProcess& p1 = cluster.process("p1");
  p1.limit(RLIMIT_NPROC, process_use(p1.pid()).threads);
  // Each holds its thread until the trainer has answered it, so each asks for a thread more.
  std::vector<Future<std::int64_t>> calls;
  for (int i = 0; i < 40; ++i) calls.push_back(trainer.rpc_async("p1", &square_often, "trainer", 5));
  int served = 0;
  for (const Future<std::int64_t>& call : calls) {
    const auto result = call.get_for(20s);
    BOOST_TEST_REQUIRE(result.has_value(), "a call has no end");
    if (*result) {
      ++served;
    } else {
      BOOST_TEST(result->error().code == ErrorCode::resource_exhausted, result->error().text());
    }
  }
  BOOST_TEST(served > 0);
  p1.limit(RLIMIT_NPROC, RLIM_INFINITY);
  BOOST_TEST(trainer.rpc_sync("p1", &square_often, "trainer", 5) == 5);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing

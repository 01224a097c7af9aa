// Collectives and calls in the same nodes: neither blocks the other, whichever starts first.
#include <boost/test/unit_test.hpp>

#include <future>
#include <string>
#include <vector>

#include "node/gloo_collective.h"
#include "tests/conformance/collective_functions.h"
#include "tests/conformance/test_cluster.h"

namespace troupe::testing {
namespace {

BOOST_AUTO_TEST_SUITE(collectives)

using boost::unit_test::label;
using Names = std::vector<NodeName>;

const Names kThree{"trainer", "p1", "p2"};

/// The values that each member sees when three members interleave two rounds.
const std::vector<double> kTwoRounds{
    0 + 1 + 2,    0, 1, 4,  // the sum of ranks; squares of 0 and 2; 1 + 0
    10 + 11 + 12, 1, 2, 9,  // and with 10 more each; squares of 1 and 3; 1 + 1
};

/// All three members interleave, the trainer on the calling thread. Each sees kTwoRounds.
void interleave_three(Node& trainer) {
  std::vector<Future<std::vector<double>>> others;
  for (const char* name : {"p1", "p2"}) others.push_back(trainer.rpc_async(name, &interleave, kThree, 2));
  Scope own = trainer;
  BOOST_TEST(interleave(own, kThree, 2) == kTwoRounds, boost::test_tools::per_element());
  for (const auto& other : others) BOOST_TEST(other.get() == kTwoRounds, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(collective_formed_first_works_and_so_do_calls_beside_it, *label("I-10")) {
  TestCluster cluster({"p1", "p2"});
  interleave_three(cluster.trainer());
  interleave_three(cluster.trainer());  // another collective with the same members
  cluster.expect_settled();
}

BOOST_AUTO_TEST_CASE(collective_formed_while_references_live_and_calls_are_under_way_works_and_so_do_they,
                     *label("I-11")) {
  TestCluster cluster({"p1", "p2"});
  Node& trainer = cluster.trainer();
  const RRef<Counter> there = trainer.remote("p1", constructor<Counter, std::int64_t>, std::int64_t{40});
  const RRef<Counter> here(trainer, Counter(5));
  std::vector<Future<bool>> under_way;
  for (const NodeName& name : kThree) under_way.push_back(trainer.rpc_async(name, &wait_until_stopped));
  under_way.push_back(trainer.rpc_async("p1", &wait_on, "p2"));
  cluster.await_calls("p2", 2);
  interleave_three(trainer);
  for (const auto& call : under_way) BOOST_TEST(call.cancel());  // none had completed
  BOOST_TEST(there.rpc_sync(trainer, &Counter::add, 2) == 42);
  trainer.rpc_sync("p2", &increment_of, here);
  BOOST_TEST(here.local_value(trainer)->value() == 6);
}

BOOST_AUTO_TEST_CASE(slow_calls_and_a_collective_that_their_caller_and_their_function_form_all_end, *label("I-27")) {
  TestCluster cluster({"p1", "p2"}, {.threads = 1});
  Node& trainer = cluster.trainer();
  const auto slow = trainer.rpc_async("p2", &wait_on, "p1");  // p2 waits for p1, which waits
  cluster.await_calls("p1", 1);
  // The trainer waits in a call to p1. Its function takes part in a collective and makes a call in it; p2 calls p1 at
  // the same time.
  auto blocked =
      std::async(std::launch::async, [&] { return trainer.rpc_sync("p1", &sum_after_calls, kThree, Names{}, 1.0); });
  const auto second = trainer.rpc_async("p2", &sum_after_calls, kThree, Names{"p1", "trainer"}, 2.0);
  Scope own = trainer;
  BOOST_TEST(sum_after_calls(own, kThree, {}, 4.0) == 7.0);
  BOOST_TEST(blocked.get() == 7.0);
  BOOST_TEST(second.get() == 7.0);
  BOOST_TEST(slow.cancel());
}

BOOST_AUTO_TEST_CASE(death_of_a_member_in_the_middle_of_an_operation_is_told_to_all_with_its_name) {
  TestCluster cluster({"p1", "p2", "p3"});
  Node& trainer = cluster.trainer();
  const Names members{"p1", "p2", "p3"};
  std::vector<Future<std::string>> sums;
  for (const NodeName& name : members) sums.push_back(trainer.rpc_async(name, &sum_until_failure, members));
  for (const NodeName& name : members) cluster.await_calls(name, 1);
  cluster.kill("p2");
  for (const std::size_t survivor : {0U, 2U}) BOOST_TEST(sums[survivor].get() == "peer_down p2");
  BOOST_TEST(error_of([&] { return sums[1].get(); }).peer == "p2");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing

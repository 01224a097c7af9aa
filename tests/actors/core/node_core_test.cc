#include "actors/core/node_core.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "actors/core/caf.h"
#include "actors/core/wait_point.h"
#include "node/local_cluster.h"

namespace troupe::detail {

struct BlockHere {};

}  // namespace troupe::detail

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::BlockHere)

namespace troupe::detail {
BOOST_AUTO_TEST_SUITE(node_core)

namespace {

struct Block {
  WaitPoint began;
  WaitPoint until;
  std::optional<TimePoint> until_time;  ///< ends the block too; set before the actor runs
};

/// Blocks, as handlers never do. Has an argument, because CAF 0.17 reads through a null pointer without one.
using BlockingActor = caf::typed_actor<caf::reacts_to<BlockHere>>;

BlockingActor::behavior_type blocking_actor(BlockingActor::pointer self, const std::shared_ptr<Block>& block) {
  return {[self, block](const BlockHere&) {
    block->began.signal();
    block->until.wait_here(block->until_time);
    self->quit();
  }};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_node_that_an_actor_has_outlived_frees_nothing_that_the_actor_points_to) {
  const auto block = std::make_shared<Block>();
  std::weak_ptr<NodeCore> core;
  [[maybe_unused]] static const void* volatile kept = nullptr;  // keeps it reachable: no leak
  std::jthread runs_actor;
  {
    LocalCluster cluster({"ps0"}, FunctionRegistry{});
    NodeCore& node = cluster.node("ps0").core();
    core = node.weak_from_this();
    kept = &node;
    const auto actor = node.host().spawn("the blocking actor", ActorHost::Lost(), blocking_actor, block);
    runs_actor = std::jthread([host = &node.host(), actor] { host->send(actor, BlockHere{}); });
    block->began.wait_here(std::nullopt);
    const std::vector<std::string> left = node.stop(node.clock().now());
    BOOST_REQUIRE(left.size() == 1U);
    BOOST_TEST(left[0] == "ps0: 1 actors have not ended");
  }
  BOOST_TEST(!core.expired());
  block->until.signal();
}

BOOST_AUTO_TEST_CASE(a_node_whose_time_is_used_up_waits_for_its_own_actors_all_the_same) {
  const auto block = std::make_shared<Block>();
  std::jthread runs_actor;
  LocalCluster cluster({"ps0"}, FunctionRegistry{});
  NodeCore& node = cluster.node("ps0").core();
  const auto actor = node.host().spawn("the busy actor", ActorHost::Lost(), blocking_actor, block);
  block->until_time = TimePoint(std::chrono::steady_clock::now() + std::chrono::milliseconds(50));
  runs_actor = std::jthread([host = &node.host(), actor] { host->send(actor, BlockHere{}); });
  block->began.wait_here(std::nullopt);
  BOOST_TEST(node.stop(node.clock().now() - std::chrono::seconds(1)).empty());
}

BOOST_AUTO_TEST_CASE(a_node_whose_actors_have_ended_goes_with_its_last_user) {
  std::weak_ptr<NodeCore> core;
  {
    LocalCluster cluster({"ps0"}, FunctionRegistry{});
    core = cluster.node("ps0").core().weak_from_this();
  }
  BOOST_TEST(core.expired());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::detail

// The devices of nodes that join over sockets, and the errors of maps that cannot be.
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "node/node.h"
#include "tensor/create.h"
#include "tensor/device.h"
#include "tensor/error.h"
#include "tests/conformance/all_functions.h"
#include "tests/conformance/load_functions.h"
#include "tests/conformance/test_cluster.h"
#include "tests/support/gpu.h"

namespace troupe::testing {
namespace {

BOOST_AUTO_TEST_SUITE(device_maps_of_nodes)

using namespace std::chrono_literals;
using boost::unit_test::label;

struct World {
  const ClusterSecret secret = ClusterSecret::random();

  [[nodiscard]] NodeOptions options(NodeName name, std::uint32_t world_size, std::string seed = {}) const {
    NodeOptions options;
    options.name = std::move(name);
    options.cluster_id = "devices";
    options.world_size = world_size;
    options.seed = std::move(seed);
    options.secret = secret;
    options.join_deadline = 5s;
    return options;
  }
  [[nodiscard]] static Node join(const NodeOptions& options) { return Node::join(options, functions_of(options.name)); }
};

BOOST_AUTO_TEST_CASE(newcomer_is_sent_tensors_on_a_gpu_where_the_device_map_says,
                     *label("I-23") * label("needs_gpu") * boost::unit_test::precondition(NeedsGpus{1})) {
  const World world;
  const Device gpu = Device::cuda();
  Node first = World::join(world.options("a", 0));
  first.set_device_map("b", {{gpu, gpu}});
  const Node newcomer = World::join(world.options("b", 0, first.address()));
  const Tensor x = from_values<float>({1, 2, 3}).to(gpu);
  BOOST_TEST(first.rpc_sync("b", &device_of, x) == "cuda:0");
  const Tensor back = first.rpc_sync("b", &echo_tensors, std::vector{x}).front();
  BOOST_CHECK(back.device() == gpu);
  BOOST_TEST(same_bytes(back, x));
  const Tensor fetched = first.remote("b", &echo_tensors, std::vector{x}).to_here(first).front();
  BOOST_CHECK(fetched.device() == gpu);
  BOOST_TEST(same_bytes(fetched, x));
  // The newcomer has no map of its own, and the call fails at once. Calls that need no map still succeed.
  const Error error = error_of([&] { return newcomer.rpc_sync("a", &device_of, x); });
  BOOST_TEST(error.code == ErrorCode::missing_device_map);
  BOOST_TEST(newcomer.rpc_sync("a", &device_of, x.to(Device::cpu())) == "cpu");
}

/// One node has a map that crosses both devices from its start, the other is given each half of it later.
void check_maps_of_the_start_and_later(Device one, Device other) {
  const World world;
  const DeviceMap crossed{{one, other}, {other, one}};
  NodeOptions options = world.options("a", 0);
  options.device_maps["b"] = crossed;
  Node first = World::join(options);
  Node second = World::join(world.options("b", 0, first.address()));
  for (const DeviceMap::Pair& pair : crossed.pairs()) second.set_device_map("a", {pair});
  for (const auto& [node, peer] : {std::pair(&first, "b"), std::pair(&second, "a")}) {
    for (const auto& [here, there] : crossed.pairs()) {
      const Tensor x = from_values<float>({1, 2, 3}).to(here);
      BOOST_TEST(node->rpc_sync(peer, &device_of, x) == to_string(there));
      BOOST_CHECK(node->rpc_sync(peer, &echo_tensors, std::vector{x}).front().device() == here);
    }
  }
}

BOOST_AUTO_TEST_CASE(device_maps_given_at_the_start_and_added_later_are_the_same,
                     *label("D-07") * label("needs_gpu") * boost::unit_test::precondition(NeedsGpus{2})) {
  check_maps_of_the_start_and_later(Device::cuda(0), Device::cuda(1));
}

BOOST_AUTO_TEST_CASE(device_maps_of_one_gpu_given_at_the_start_and_added_later_are_the_same,
                     *label("D-07") * label("needs_gpu") * boost::unit_test::precondition(NeedsGpus{1})) {
  check_maps_of_the_start_and_later(Device::cpu(), Device::cuda());
}

BOOST_AUTO_TEST_CASE(tensor_for_a_device_that_the_callee_lacks_is_refused_by_its_name, *label("D-02")) {
  const World world;
  const auto beyond = static_cast<std::int16_t>(gpu_count());
  NodeOptions options = world.options("a", 0);
  options.device_maps["b"] = {{Device::cpu(), Device::cuda(beyond)}};
  const Node first = World::join(options);
  const Node second = World::join(world.options("b", 0, first.address()));
  const Error error = error_of([&] { return first.rpc_sync("b", &device_of, ones({2})); });
  BOOST_TEST(error.code == ErrorCode::decode);
  BOOST_TEST(error.message == fmt::format("[decode] tensor for cuda:{0}: [allocate] cuda:{0} is not available: {1}",
                                          beyond, why_unavailable(Device::cuda(beyond))));
  BOOST_TEST(first.rpc_sync("b", &where) == "b");
  BOOST_TEST(first.rpc_sync("a", &device_of, ones({2})) == "cpu");  // the map is for calls to b
  BOOST_TEST(second.rpc_sync("a", &device_of, ones({2})) == "cpu");
}

BOOST_AUTO_TEST_CASE(answer_takes_the_way_back_not_that_of_the_call) {
  const World world;
  const auto beyond = static_cast<std::int16_t>(gpu_count());
  const Node first = World::join(world.options("a", 0));
  Node second = World::join(world.options("b", 0, first.address()));
  // Calls to "a" map to a GPU that does not exist. Answers take the reverse map: from the CPU they go to the CPU.
  second.set_device_map("a", {{Device::cpu(), Device::cuda(beyond)}});
  const Error error = error_of([&] { return second.rpc_sync("a", &device_of, ones({2})); });
  BOOST_TEST(error.code == ErrorCode::decode);
  BOOST_TEST(second.rpc_sync("a", &filled, 3, 2.0).numel() == 3);
  BOOST_TEST(second.remote("a", &filled, 3, 2.0).to_here(second).numel() == 3);
}

BOOST_AUTO_TEST_CASE(device_map_that_cannot_be_is_refused_when_it_is_given, *label("D-02") * label("D-03")) {
  const World world;
  Node first = World::join(world.options("a", 0));
  const auto beyond = static_cast<std::int16_t>(gpu_count());
  BOOST_CHECK_EXCEPTION(
      first.set_device_map("b", {{Device::cuda(beyond), Device::cuda(0)}}), DeviceError, [&](const DeviceError& error) {
        return error.what() ==
               fmt::format("[device_map] cuda:{} is not available: {}", beyond, why_unavailable(Device::cuda(beyond)));
      });
  first.set_device_map("b", {{Device::cpu(), Device::cuda(0)}});
  BOOST_CHECK_THROW(first.set_device_map("b", {{Device::cpu(), Device::cuda(1)}}), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(device_map_for_a_node_that_a_complete_world_lacks_is_refused, *label("D-01")) {
  const World world;
  NodeOptions options = world.options("a", 1);
  options.device_maps["a"] = options.device_maps["b"] = {{Device::cpu(), Device::cuda(0)}};
  const Error error = error_of([&] { return World::join(options); });
  BOOST_TEST(error.code == ErrorCode::not_joined, error.text());
  BOOST_TEST(error.message == "device map: no member is called \"b\": the world is a (rank 0)");
  options.grows = true;  // it may come later
  BOOST_TEST(World::join(options).name() == "a");
  options = world.options("a", 0);
  options.device_maps["b"] = {{Device::cpu(), Device::cuda(0)}};
  BOOST_TEST(World::join(options).name() == "a");
}

BOOST_AUTO_TEST_CASE(device_map_for_a_node_that_a_complete_world_lacks_is_refused_later_too, *label("D-01")) {
  const World world;
  const DeviceMap map{{Device::cpu(), Device::cuda(0)}};
  NodeOptions options = world.options("a", 1);
  {
    Node alone = World::join(options);
    alone.set_device_map("a", map);
    const Error error = error_of([&] { return alone.set_device_map("b", map), 0; });
    BOOST_TEST(error.code == ErrorCode::not_joined, error.text());
    BOOST_TEST(error.message == "device map: no member is called \"b\": the world is a (rank 0)");
  }
  options.grows = true;  // it may come later
  World::join(options).set_device_map("b", map);
  World::join(world.options("a", 0)).set_device_map("b", map);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing

// Two nodes of one name that come at once, over sockets.
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "messages/error.h"
#include "node/node.h"
#include "tests/conformance/all_functions.h"
#include "tests/conformance/test_cluster.h"

namespace troupe::testing {
namespace {

BOOST_AUTO_TEST_SUITE(namesakes)

using boost::unit_test::label;

struct World {
  const ClusterSecret secret = ClusterSecret::random();

  [[nodiscard]] std::unique_ptr<Node> join(NodeName name, std::string seed = {}) const {
    NodeOptions options;
    options.name = std::move(name);
    options.cluster_id = "namesakes";
    options.world_size = 0;
    options.seed = std::move(seed);
    options.secret = secret;
    options.join_deadline = std::chrono::seconds(20);
    return std::make_unique<Node>(Node::join(options, functions_of(options.name)));
  }
};

BOOST_AUTO_TEST_CASE(of_two_nodes_of_one_name_that_join_at_once_through_two_others_one_is_in, *label("I-04")) {
  const World world;
  const auto a = world.join("a");
  const auto b = world.join("b", a->address());
  const auto c = world.join("c", a->address());
  std::vector<std::future<std::unique_ptr<Node>>> twins;
  for (const std::string& seed : {b->address(), c->address()})
    twins.push_back(std::async(std::launch::async, [&world, seed] { return world.join("n", seed); }));
  std::vector<std::unique_ptr<Node>> in;
  for (auto& twin : twins) {
    try {
      in.push_back(twin.get());
    } catch (const RemoteError& error) {  // a member's link refuses it, or has given it up for the other one
      BOOST_TEST_MESSAGE(error.error().text());
    }
  }
  BOOST_TEST(in.size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing

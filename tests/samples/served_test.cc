#include "samples/parameter_server/served.h"

#include <boost/test/unit_test.hpp>

#include "node/local_cluster.h"
#include "tensor/create.h"

namespace samples {

using namespace troupe;

BOOST_AUTO_TEST_SUITE(served)

BOOST_AUTO_TEST_CASE(each_node_of_a_process_has_one_network_of_its_own) {
  LocalCluster cluster({"ps0", "ps1"}, server_functions());
  LocalCluster other_cluster({"ps0"}, server_functions());
  Node& node = cluster.node("ps0");
  const RRef<DigitNet> here = node.rpc_sync("ps0", &shared_net);
  const RRef<DigitNet> there = node.rpc_sync("ps1", &shared_net);
  BOOST_TEST(here.owner() == "ps0");
  BOOST_TEST(there.owner() == "ps1");
  BOOST_CHECK(node.rpc_sync("ps0", &shared_net) == here);
  BOOST_CHECK(node.rpc_sync("ps1", &shared_net) == there);
  Node& namesake = other_cluster.node("ps0");
  const RRef<DigitNet> elsewhere = namesake.rpc_sync("ps0", &shared_net);
  BOOST_TEST(elsewhere.rpc_sync(namesake, &DigitNet::classify, zeros({3, 1, 28, 28})).numel() == 3);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace samples

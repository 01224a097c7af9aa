// The actor of a node's router, and the clock that it asks to be woken.
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "messages/rpc.h"
#include "node/node.h"
#include "tests/actors/bare_peer.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(router_actor)

namespace {

using namespace std::chrono_literals;

std::int64_t seven() { return 7; }

}  // namespace

BOOST_AUTO_TEST_CASE(timers_stay_few_while_a_call_is_due_in_hours) {
  AmongBarePeers world(0, {{"seven", &seven}});
  const auto peer = world.peer("p1");
  const Future<std::int64_t> call = world.node->with({.deadline = Deadline(5h)}).rpc_async("p1", &seven);
  world.clock->advance(1s);
  const std::size_t timers = world.clock->timers();
  for (std::uint64_t exchange = 1; exchange <= 1'000; ++exchange) {
    peer->say("m", "worker", msg::CallCancelled{RequestId{exchange}});
    world.clock->advance(1s);  // its acknowledgement is due before that
  }
  BOOST_TEST(world.clock->timers() == timers);
  BOOST_TEST(!call.ready());
  world.clock->advance(5h);
  BOOST_TEST_REQUIRE(call.ready());
  BOOST_TEST((call.get_for(0ms)->error().code == ErrorCode::timeout));
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing

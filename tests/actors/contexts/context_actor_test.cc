#include "actors/contexts/context_actor.h"

#include <boost/test/unit_test.hpp>

#include "actors/contexts/contexts.h"
#include "actors/core/node_core.h"
#include "tests/actors/bare_peer.h"

namespace troupe::testing {
namespace {

BOOST_AUTO_TEST_SUITE(context_actor)

BOOST_AUTO_TEST_CASE(context_that_a_call_of_the_dead_brings_is_told_to_its_creator,
                     *boost::unit_test::label("fault-F28")) {
  AmongBarePeers among;
  const auto p1 = among.peer("p1", 1);
  const auto p2 = among.peer("p2", 2);
  const ContextId context{"p1", 1, 5};
  p2->die();
  BOOST_TEST(!among.core().contexts().joined(context, "p2").has_value());  // an earlier call that was waiting
  const auto aborted = p1->take<msg::ContextAborted>();
  BOOST_REQUIRE(aborted.size() == 1U);
  BOOST_TEST((aborted[0].context == context));
  BOOST_TEST(aborted[0].error.peer == "p2");
  p1->say("m", "", msg::ContextReleased{context});
  BOOST_TEST(among.core().contexts().size() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing

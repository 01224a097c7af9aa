#include "actors/contexts/context_actor.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <new>

#include "actors/contexts/contexts.h"
#include "actors/core/node_core.h"
#include "tests/actors/bare_peer.h"
#include "tests/support/counting_new.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;

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

BOOST_AUTO_TEST_CASE(release_that_gets_no_memory_reaches_every_peer_or_ends_the_node) {
  std::size_t told = 0;
  for (const bool is_own : {true, false}) {
    bool is_refused = true;
    for (std::size_t n = 1; is_refused; ++n) {
      AmongBarePeers among;
      const auto p1 = among.peer("p1", 1);
      const auto p2 = among.peer("p2", 2);
      const auto p3 = among.peer("p3", 3);
      detail::Contexts& contexts = among.core().contexts();
      const ContextId id = is_own ? contexts.open() : ContextId{"p1", 1, 5};
      for (const NodeName name : {"p1", "p2", "p3"}) BOOST_TEST(!contexts.joined(id, name).has_value());
      bool is_known = true;
      {
        const RefusedAllocation refused(n);
        try {
          is_own ? contexts.release(id) : contexts.handle(p1->life(), msg::ContextReleased{id});
        } catch (const std::bad_alloc&) {
          is_known = false;  // to the context: its caller ends the node
        }
        is_refused = refused.happened();
      }
      const auto peers = {p1.get(), p2.get(), p3.get()};
      if (!is_known || among.core().failure() || std::ranges::any_of(peers, &BarePeer::is_broken)) continue;
      for (int second = 0; second < 3; ++second) among.clock->advance(1s);  // packets that were lost are sent again
      for (BarePeer* peer : peers) {
        if (peer == p1.get() && !is_own) continue;
        BOOST_TEST(!peer->take<msg::ContextReleased>().empty(),
                   peer->self().name << " and allocation " << n << (is_own ? " here" : " there"));
      }
      told += is_refused ? 1 : 0;
    }
  }
  BOOST_TEST(told > 10U);
}

BOOST_AUTO_TEST_CASE(question_about_a_context_in_doubt_that_gets_no_memory_is_asked_or_ends_the_node) {
  std::size_t asked = 0;
  bool is_refused = true;
  for (std::size_t n = 1; is_refused; ++n) {
    AmongBarePeers among;
    const auto p1 = among.peer("p1", 1);
    const auto p2 = among.peer("p2", 2);
    detail::Contexts& contexts = among.core().contexts();
    const ContextId id{"p1", 1, 5};
    p2->say("m", "", msg::ContextReleased{id});  // without a proof
    {
      const RefusedAllocation refused(n);
      try {
        contexts.called(id, "p2");
      } catch (const std::bad_alloc&) {
      }
      is_refused = refused.happened();
    }
    if (among.core().failure() || p1->is_broken()) continue;
    contexts.called(id, "p2");
    for (int second = 0; second < 3; ++second) among.clock->advance(1s);  // packets that were lost are sent again
    BOOST_TEST(p1->take<msg::ContextEntered>().size() == 1U, "allocation " << n);
    ++asked;
  }
  BOOST_TEST(asked > 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing

// Contexts that others abort.
#include <boost/test/unit_test.hpp>

#include <string>

#include "tests/actors/contexts/among_contexts.h"

namespace troupe::testing {

BOOST_FIXTURE_TEST_SUITE(aborted_contexts, AmongContexts)

BOOST_AUTO_TEST_CASE(who_asks_whether_a_context_is_alive_hears_what_aborted_it) {
  const ContextId own = contexts().open();
  const auto alive = [&](const ContextId& id) { return outcome(contexts().alive(id)); };
  BOOST_TEST(alive(own) == "gradients");
  BOOST_TEST(alive(of_p1(1)) == "gradients");  // it never was here
  p1->say("m", "", msg::ContextReleased{own});
  BOOST_TEST(alive(own) == "context_aborted context m.1 does not exist or was released");
  contexts().release(own);
  BOOST_TEST(alive(own) == "context_aborted context m.1 does not exist or was released");
}

BOOST_AUTO_TEST_CASE(a_peer_that_has_forgotten_a_context_of_this_node_ends_it_for_everybody) {
  const ContextId own = contexts().open();
  contexts().called(own, "p1");
  contexts().called(own, "p2");
  p1->say("m", "", msg::ContextReleased{own});
  BOOST_TEST(gradients(own) == "context_aborted context m.1 does not exist or was released");
  BOOST_TEST(contexts().size() == 1U);  // until it is released
  const auto aborted = p2->take<msg::ContextAborted>();
  BOOST_REQUIRE(aborted.size() == 1U);
  BOOST_TEST((aborted[0].context == own));
  BOOST_TEST((aborted[0].error.code == ErrorCode::context_aborted));
  BOOST_TEST(p1->take<msg::ContextAborted>().empty());  // the abort came from p1
}

BOOST_AUTO_TEST_CASE(an_abort_is_known_before_the_context_is) {
  Error why;
  why.code = ErrorCode::context_aborted;
  why.peer = "p2";
  why.message = "p2 has had enough";
  p2->say("m", "", msg::ContextAborted{of_p1(1), why});
  BOOST_TEST(contexts().size() == 1U);
  BOOST_TEST(gradients(of_p1(1)) == "context_aborted p2 has had enough");
  BOOST_TEST(p2->take<msg::ContextAborted>().empty());
}

BOOST_AUTO_TEST_CASE(who_aborts_what_has_ended_is_told_so_unless_the_creator_is_dead) {
  Error why;
  why.code = ErrorCode::context_aborted;
  why.peer = "p2";
  p2->say("m", "", msg::ContextAborted{of_p1(1), why});
  BOOST_TEST(contexts().size() == 1U);
  BOOST_TEST(p2->take<msg::ContextReleased>().empty());  // the context lives
  p1->say("m", "", msg::ContextReleased{of_p1(1)});
  BOOST_TEST(p2->take<msg::ContextReleased>().size() == 1U);  // for the release
  p2->say("m", "", msg::ContextAborted{of_p1(1), why});
  BOOST_TEST(p2->take<msg::ContextReleased>().size() == 1U);
  why.peer = "p1";
  p2->say("m", "", msg::ContextAborted{of_p1(1), why});
  BOOST_TEST(p2->take<msg::ContextReleased>().size() == 1U);  // p1 is up
  p1->die();
  p2->say("m", "", msg::ContextAborted{of_p1(1), why});
  BOOST_TEST(p2->take<msg::ContextReleased>().empty());
  BOOST_TEST(contexts().size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_context_that_cannot_begin_is_lost_and_its_creator_hears_why) {
  clock->fail_next();
  contexts().called(of_p1(1), "p2");
  BOOST_TEST(contexts().size() == 0U);
  const auto aborted = p1->take<msg::ContextAborted>();
  BOOST_REQUIRE(aborted.size() == 1U);
  BOOST_TEST((aborted[0].context == of_p1(1)));
  BOOST_TEST((aborted[0].error.code == ErrorCode::context_aborted));
  BOOST_TEST(aborted[0].error.cause.starts_with("the context: resource_exhausted"), aborted[0].error.cause);
  BOOST_TEST(gradients(of_p1(1)).find("context_aborted") == 0U);  // the context does not begin again
}

BOOST_AUTO_TEST_CASE(an_abort_for_the_death_of_the_creator_ends_the_context) {
  const ContextId unmet{"p3", 3, 1};
  BOOST_TEST(!contexts().joined(unmet, "p2").has_value());
  BOOST_TEST(!contexts().joined(of_p1(2), "p2").has_value());
  const auto asked = pass(unmet, {});
  Error why;
  why.code = ErrorCode::context_aborted;
  why.peer = "p3";
  why.message = "p3 took part and is gone";
  p2->say("m", "", msg::ContextAborted{unmet, why});
  BOOST_TEST(contexts().size() == 1U);
  BOOST_TEST(p2->take<msg::ContextReleased>().empty());
  // This node is named among the dead, but it lives: not a death.
  const ContextId own = contexts().open();
  contexts().called(own, "p2");
  why.peer = "m";
  p2->say("m", "", msg::ContextAborted{own, why});
  BOOST_TEST(contexts().size() == 2U);
  BOOST_TEST(gradients(own) == "context_aborted p3 took part and is gone");
}

BOOST_AUTO_TEST_CASE(who_says_that_a_creator_that_is_up_is_dead_aborts_the_context) {
  Error why;
  why.code = ErrorCode::context_aborted;
  why.peer = "p1";
  why.message = "p1 is gone";
  for (const auto& [serial, speaker] : {std::pair(1U, p2.get()), std::pair(2U, p1.get())}) {
    BOOST_TEST(!contexts().joined(of_p1(serial), "p2").has_value());
    speaker->say("m", "", msg::ContextAborted{of_p1(serial), why});
    BOOST_TEST(contexts().size() == serial);
    BOOST_TEST(gradients(of_p1(serial)) == "context_aborted p1 is gone");
    const auto told = (speaker == p2.get() ? p1 : p2)->take<msg::ContextAborted>();
    BOOST_REQUIRE(told.size() == 1U);
    BOOST_TEST((told[0].context == of_p1(serial)));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing

#include "actors/calls/call_grants.h"

#include <boost/test/unit_test.hpp>

#include <stdexcept>
#include <string>
#include <vector>

namespace troupe {

BOOST_AUTO_TEST_SUITE(call_grants)

BOOST_AUTO_TEST_CASE(without_grants_everybody_may_call_everything) {
  BOOST_TEST(CallGrants{}.empty());
  BOOST_TEST(CallGrants{}.may_call("anybody", "anything"));
}

BOOST_AUTO_TEST_CASE(a_peer_may_call_what_its_entry_or_that_for_all_has) {
  CallGrants grants;
  grants.allow("trainer0", {"push", "pull"});
  grants.allow("trainer0", {"stats.*"});
  grants.allow("master", {"*"});
  BOOST_TEST(grants.may_call("trainer0", "push"));
  BOOST_TEST(grants.may_call("trainer0", "pull"));
  BOOST_TEST(grants.may_call("trainer0", "stats.rate"));
  BOOST_TEST(!grants.may_call("trainer0", "stats"));
  BOOST_TEST(!grants.may_call("trainer0", "pus"));
  BOOST_TEST(!grants.may_call("trainer0", "push2"));
  BOOST_TEST(!grants.may_call("trainer1", "push"));
  BOOST_TEST(!grants.may_call("trainer", "push"));
  BOOST_TEST(grants.may_call("master", "anything"));
  grants.allow("*", {"ping"});
  BOOST_TEST(grants.may_call("trainer1", "ping"));
  BOOST_TEST(grants.may_call("trainer0", "ping"));
  BOOST_TEST(!grants.may_call("*", "push"));
  BOOST_TEST(grants.functions() == (std::vector<std::string>{"ping", "pull", "push"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(who_is_granted_nothing_may_call_nothing) {
  CallGrants grants;
  grants.allow("*", {});
  BOOST_TEST(!grants.empty());
  BOOST_TEST(!grants.may_call("trainer0", "push"));
  BOOST_TEST(!grants.may_call("trainer0", ""));
}

BOOST_AUTO_TEST_CASE(grants_are_read_as_they_were_written) {
  CallGrants grants;
  grants.allow("master", {"*"});
  for (const char* trainer : {"trainer1", "trainer0"}) grants.allow(trainer, {"push", "pull"});
  grants.allow("guest", {});
  BOOST_TEST(grants.text() == "guest=;master=*;trainer0,trainer1=pull,push");
  BOOST_CHECK(CallGrants::parse(grants.text()) == grants);
  BOOST_CHECK(CallGrants::parse("") == CallGrants{});
}

BOOST_AUTO_TEST_CASE(what_is_no_grant_is_refused_and_shown) {
  for (const std::string text : {"trainer0", "=push", "a=b=c", ",a=b", "a=b,,c", ";", "a=b;"}) {
    BOOST_TEST_CONTEXT(text) {
      BOOST_CHECK_EXCEPTION((void)CallGrants::parse(text), std::invalid_argument, [](const auto& error) {
        return std::string_view(error.what()).starts_with("expected PEER,...=FUNCTION,..., found \"");
      });
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe

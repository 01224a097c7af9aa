#include "actors/calls/listed_grants.h"

#include <boost/test/unit_test.hpp>

namespace troupe {

using detail::ListedGrants;
using detail::ReplaceableGrants;
using enum detail::ValueRight;

BOOST_AUTO_TEST_SUITE(listed_grants)

BOOST_AUTO_TEST_CASE(grants_of_a_list_are_those_given_last) {
  ReplaceableGrants listed{ListedGrants()};
  BOOST_TEST(listed.may_call("guest", "push"));
  listed.replace({.calls = CallGrants::parse("guest=eval;ps=*")});
  BOOST_TEST(listed.may_call("guest", "eval"));
  BOOST_TEST(!listed.may_call("guest", "push"));
  BOOST_TEST(listed.may_call("ps", "push"));
  BOOST_TEST(!listed.may_call("stranger", "eval"));
  BOOST_TEST(listed.has("guest", owns));
  listed.replace({});
  BOOST_TEST(listed.may_call("guest", "push"));
}

BOOST_AUTO_TEST_CASE(a_right_is_withheld_from_its_members_alone_and_without_the_other_right) {
  const ListedGrants grants{.without_owns = {"guest"}, .without_reads = {"guest", "eye"}};
  BOOST_TEST(!grants.empty());
  BOOST_TEST(!ListedGrants{.without_reads = {"eye"}}.empty());
  BOOST_TEST(ListedGrants().empty());
  const auto check = [](const auto& asked) {
    BOOST_TEST(!asked.has("guest", owns));
    BOOST_TEST(!asked.has("guest", reads));
    BOOST_TEST(asked.has("eye", owns));
    BOOST_TEST(!asked.has("eye", reads));
    BOOST_TEST(asked.has("ps", owns));
    BOOST_TEST(asked.has("ps", reads));
  };
  check(grants);
  ReplaceableGrants listed{grants};
  check(listed);
  BOOST_TEST(listed.may_call("guest", "push"));
  listed.replace({.without_reads = {"ps"}});
  BOOST_TEST(listed.has("guest", owns));
  BOOST_TEST(!listed.has("ps", reads));
}

BOOST_AUTO_TEST_CASE(who_was_revoked_may_do_nothing, *boost::unit_test::label("attack")) {
  const ListedGrants grants{.revoked = {"guest"}};
  BOOST_TEST(!grants.empty());
  const auto check = [](const auto& asked) {
    BOOST_TEST(!asked.may_call("guest", "push"));
    BOOST_TEST(!asked.has("guest", owns));
    BOOST_TEST(!asked.has("guest", reads));
    BOOST_TEST(asked.may_call("ps", "push"));
    BOOST_TEST(asked.has("ps", owns));
    BOOST_TEST(asked.has("ps", reads));
  };
  check(grants);
  check(ReplaceableGrants{grants});
  BOOST_TEST(!ListedGrants({.calls = CallGrants::parse("*=push"), .revoked = {"guest"}}).may_call("guest", "push"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe

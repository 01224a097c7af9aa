#include "actors/references/fetches.h"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "actors/core/node_core.h"
#include "tests/actors/references/among_values.h"

namespace troupe::testing {
namespace {

using detail::ValueBox;

BOOST_AUTO_TEST_SUITE(fetches)
BOOST_FIXTURE_TEST_SUITE(of_peers, AmongValues)

/// Calls `on_save` when it is encoded.
struct Watched {
  std::function<void()> on_save;
  template <class Archive>
  void serialize(Archive& ar) {
    std::int64_t value = 0;
    ar(value);
    if (on_save) on_save();
  }
};

BOOST_AUTO_TEST_CASE(a_fetch_of_several_values_that_is_cancelled_between_two_does_not_wait_for_the_next) {
  ForkId fork;
  const auto never_made = references().created({"m", 7, 100}, fork, "m", "i64", SourceLocation::current());
  std::function<void()> cancel;
  const auto made = references().own(ValueBox::of(Watched{[&] { cancel(); }}), "watched", SourceLocation::current());
  pool->keeps = true;
  const Asked asked =
      p1->ask("m", "rref/" + made->id().text(), msg::RRefFetch{{made->id(), never_made->id()}, msg::Wanted::value, {}});
  BOOST_REQUIRE(pool->kept.size() == 1U);
  BOOST_TEST(core().counts().served_calls == 1U);
  cancel = [&] {
    core().served_calls().cancelled(p1->life(), RequestId{1});
    for (const Job& job : std::exchange(pool->kept, {})) job.run();  // the stop callbacks
  };
  for (const Job& job : std::exchange(pool->kept, {})) job.run();
  BOOST_TEST(outcome(asked) == "cancelled");
  BOOST_TEST(core().counts().served_calls == 0U);
}

BOOST_AUTO_TEST_CASE(a_fetch_that_names_a_value_twice_is_refused_before_anything_is_encoded,
                     *boost::unit_test::label("attack")) {
  int saved = 0;
  const auto watched = references().own(ValueBox::of(Watched{[&] { ++saved; }}), "watched", SourceLocation::current());
  const auto other = own();
  const RRefId twice = watched->id();
  const Asked refused =
      p1->ask("m", "rref/" + twice.text(), msg::RRefFetch{{twice, other->id(), twice}, msg::Wanted::value, {}});
  BOOST_TEST(outcome(refused) == "protocol_violation");
  BOOST_TEST(saved == 0);
  BOOST_TEST(outcome(p1->ask("m", "rref/" + twice.text(),
                             msg::RRefFetch{{twice, other->id()}, msg::Wanted::value, {}})) == "ok");
  BOOST_TEST(saved == 1);
}

BOOST_AUTO_TEST_CASE(a_fetch_that_no_value_can_answer_is_told_who_requested_what_of_whom,
                     *boost::unit_test::label("attack")) {
  const auto made = own();
  const auto text = [&](msg::RRefFetch request) {
    const Asked asked = p1->ask("m", "rref/" + made->id().text(), std::move(request));
    BOOST_REQUIRE(outcome(asked) == "protocol_violation");
    return (*asked)->error().operation + ": " + (*asked)->error().message;
  };
  BOOST_TEST(text({{made->id()}, static_cast<msg::Wanted>(9), {}}) ==
             "fetch: p1 requests kind 9 of a value of m; there are value (1), type (2), element (3) and cached (4)");
  BOOST_TEST(text({{}, msg::Wanted::type, {}}) == "type: the request of p1 names no value of m");
  BOOST_TEST(text({{made->id(), made->id()}, msg::Wanted::value, {}}) ==
             "to_here: the request of p1 names a value of m twice");
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing

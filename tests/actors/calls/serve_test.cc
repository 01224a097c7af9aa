#include "actors/calls/serve.h"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <string>

#include "actors/calls/function_table.h"
#include "messages/values.h"
#include "tests/actors/bare_peer.h"

namespace troupe::testing {
namespace {

std::int64_t served_next(std::int64_t x) { return x + 1; }
std::int64_t served_secret(std::int64_t x) { return x + 1000; }

CallGrants only_next() {
  CallGrants grants;
  grants.allow("p1", {"next"});
  return grants;
}

struct AmongCallers : AmongBarePeers {
  AmongCallers() : AmongBarePeers(0, {{"next", &served_next}, {"secret", &served_secret}}, {}, only_next()) {}

  /// Returns the outcome of a call of the function with the key of `key`, which the caller says has the name `name`.
  std::string call(BarePeer& caller, const std::string& key, const std::string& name) {
    msg::Call call;
    call.function = detail::function_key(key);
    call.function_name = name;
    call.fingerprint = core().functions().find(call.function)->fingerprint;
    call.arguments = to_payload(nullptr, std::int64_t{1});
    const auto answer = caller.ask("m", "worker", std::move(call));
    BOOST_REQUIRE(answer->has_value());
    if (!(*answer)->ok()) return (*answer)->error().message;
    const auto& reply = (*answer)->value().get<msg::Reply>();
    return std::to_string(std::get<0>(from_payload<std::int64_t>(reply.value)));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(serving_calls, AmongCallers)

BOOST_AUTO_TEST_CASE(a_grant_is_of_the_function_that_would_run_whatever_name_the_caller_says,
                     *boost::unit_test::label("attack")) {
  const auto p1 = peer("p1", 1);
  BOOST_TEST(call(*p1, "next", "next") == "2");
  BOOST_TEST(call(*p1, "next", "secret") == "2");
  BOOST_TEST(call(*p1, "secret", "next") == "p1 may not call \"secret\" of m");
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing

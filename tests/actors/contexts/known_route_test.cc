#include "actors/contexts/known_route.h"

#include <boost/test/unit_test.hpp>

#include "actors/contexts/recv_tag.h"
#include "autograd/ops.h"
#include "tensor/create.h"

namespace troupe::detail {

BOOST_AUTO_TEST_SUITE(known_route)

namespace {

const ContextId kContext{"trainer", 7, 1};
const NodeName kSelf = "ps0";

BoundaryId boundary_of(const NodeName& sender, std::uint64_t serial) { return {sender, 7, serial}; }

Variable received(RecvTag tag) { return RecvFn::variable(make_recv(std::move(tag), 1), 0, ones({1})); }

Variable received(std::uint64_t serial, std::optional<msg::RouteLegs> beyond) {
  return received({kContext, boundary_of("trainer", serial), "trainer", std::move(beyond)});
}

std::optional<msg::RouteLegs> route_from(const std::vector<Variable>& vertices, std::size_t max = msg::kRouteMax) {
  KnownRoute route(kContext, kSelf, max);
  for (const Variable& each : vertices) route.add(*each.gradient_edge().fn);
  return route.take();
}

}  // namespace

BOOST_AUTO_TEST_CASE(route_has_what_was_received_and_what_lies_beyond_each_once_in_order) {
  const msg::RouteLegs beyond{{"ps0", 7, "ps1", {1, 3}}, {"ps1", 7, "trainer", {4}}};
  const Variable a = received(2, beyond);
  const Variable b = received(1, msg::RouteLegs{{"ps0", 7, "ps1", {2, 3}}});
  const Variable leaf(ones({1}), RequiresGrad::yes);
  const msg::RouteLegs want{{"ps0", 7, "ps1", {1, 2, 3}}, {"ps1", 7, "trainer", {4}}, {"trainer", 7, "ps0", {1, 2}}};
  BOOST_TEST((route_from({a * b, leaf, a}) == want));
  BOOST_TEST(is_well_formed(want, 6));
  BOOST_TEST((route_from({leaf}) == msg::RouteLegs{}));
}

BOOST_AUTO_TEST_CASE(route_is_unknown_where_a_peer_did_not_say_what_lies_beyond) {
  BOOST_TEST(!route_from({received(1, std::nullopt) + received(2, msg::RouteLegs{})}).has_value());
}

BOOST_AUTO_TEST_CASE(route_is_unknown_through_values_of_another_context_or_of_no_context) {
  const ContextId other{"trainer", 7, 2};
  const msg::RouteLegs nothing;
  BOOST_TEST(!route_from({received({other, boundary_of("trainer", 1), "trainer", nothing})}).has_value());
  const Variable untagged = RecvFn::variable(RecvFn::make(1), 0, ones({1}));
  BOOST_TEST(!route_from({untagged}).has_value());
}

BOOST_AUTO_TEST_CASE(route_is_unknown_if_the_id_of_a_boundary_does_not_name_its_sender) {
  BOOST_TEST(!route_from({received({kContext, boundary_of("ps1", 1), "trainer", msg::RouteLegs{}})}).has_value());
}

BOOST_AUTO_TEST_CASE(legs_in_another_order_or_beyond_the_bound_are_not_well_formed) {
  const msg::RouteLeg first{"a", 7, "b", {1, 2}};
  const msg::RouteLeg second{"a", 7, "c", {1}};
  BOOST_TEST(is_well_formed({first, second}, 3));
  BOOST_TEST(!is_well_formed({first, second}, 2));
  BOOST_TEST(!is_well_formed({second, first}, 3));
  BOOST_TEST(!is_well_formed({second, second}, 3));
  BOOST_TEST(!is_well_formed({{"a", 7, "b", {2, 1}}}, 3));
  BOOST_TEST(!is_well_formed({{"a", 7, "b", {1, 1}}}, 3));
  BOOST_TEST(!is_well_formed({{"a", 7, "b", {}}}, 3));
}

BOOST_AUTO_TEST_CASE(route_is_unknown_beyond_its_bound_or_after_too_many_received_values) {
  std::vector<Variable> all;
  for (std::uint64_t serial = 1; serial <= 3; ++serial) all.push_back(received(serial, msg::RouteLegs{}));
  BOOST_TEST(route_from(all, 3).has_value());
  BOOST_TEST(!route_from(all, 2).has_value());
  Variable many = all.front();
  for (std::uint64_t serial = 1; serial <= ReceivedSet::kMax; ++serial)
    many = many + received(10 + serial, msg::RouteLegs{});
  BOOST_TEST(!route_from({many}).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::detail

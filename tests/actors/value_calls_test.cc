#include "actors/value_calls.h"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "actors/references.h"
#include "actors/rref.h"
#include "tests/actors/bare_peer.h"
#include "tests/actors/tally.h"

namespace troupe::testing {
namespace {

using Asked = std::shared_ptr<std::optional<Result<msg::AnyMessage>>>;

std::int64_t none_of(const RRef<Tally>&) { return 0; }

/// What the node itself says to p1, peers say back: calls as they are encoded.
struct Echo : AmongBarePeers {
  Echo()
      : AmongBarePeers(0, {{"twice", &twice}, {"none_of", &none_of}, {"Tally", constructor<Tally>}, {"Tally::total", &Tally::total}}) {}

  template <class Call>
  Call heard() {
    auto calls = p1->take<Call>();
    BOOST_REQUIRE(calls.size() == 1U);
    return std::move(calls[0]);
  }

  /// "twice(3)", to be the value `rref`.
  msg::RemoteCall make_twice(const RRefId& rref) {
    const RRef<std::int64_t> theirs = node->remote("p1", &twice, 3);
    auto call = heard<msg::RemoteCall>();
    call.rref = rref;
    call.fork = {rref.creator, rref.incarnation, rref.serial + 1};
    return call;
  }

  [[nodiscard]] std::size_t owned_values() { return core().references().owned_values(); }

  std::unique_ptr<BarePeer> p1 = peer("p1", 1);
  std::unique_ptr<BarePeer> p2 = peer("p2", 2);
};

std::string outcome(const Asked& asked) {
  if (!*asked) return "waits";
  return (*asked)->ok() ? "ok" : std::string(name_of((*asked)->error().code)) + ": " + (*asked)->error().message;
}

Asked fetch(BarePeer& peer, const RRefId& rref) { return peer.ask("m", "rref/" + rref.text(), msg::RRefFetch{{rref}, msg::Wanted::value, {}}); }

BOOST_AUTO_TEST_SUITE(value_calls)
BOOST_FIXTURE_TEST_SUITE(of_bare_peers, Echo)

BOOST_AUTO_TEST_CASE(only_the_life_that_an_id_names_makes_its_value) {
  const msg::RemoteCall call = make_twice({"p1", 1, 50});
  const Asked lie = p2->ask("m", "worker", call);
  BOOST_TEST(outcome(lie) == "protocol_violation: value p1.50 is not of p2");
  BOOST_TEST(((*lie)->error().execution == Execution::never));
  BOOST_TEST(owned_values() == 0U);
  BOOST_TEST(outcome(p1->ask("m", "worker", make_twice({"p1", 2, 50}))) == "protocol_violation: value p1.50 is not of p1");  // of another life
  BOOST_TEST(outcome(p2->ask("m", "worker", make_twice({"m", core().incarnation().low, 50}))) == "protocol_violation: value m.50 is not of p2");
  BOOST_TEST(owned_values() == 0U);
  BOOST_TEST(outcome(p1->ask("m", "worker", call)) == "ok");
  BOOST_TEST(outcome(fetch(*p1, call.rref)) == "ok");
}

BOOST_AUTO_TEST_CASE(only_the_life_that_an_id_names_keeps_a_result_as_it) {
  RRef<Tally> tally(*node, Tally{4});
  const RRef<Tally> theirs = node->remote("p1", constructor<Tally>);
  static_cast<void>(heard<msg::RemoteCall>());
  const auto total = theirs.rpc_async(*node, &Tally::total);
  auto call = heard<msg::ValueCall>();
  call.rref = tally.id();
  call.keep_as = msg::NewRRef{{"p1", 1, 80}, {"p1", 1, 81}};
  const Asked lie = p2->ask("m", "worker", call);
  BOOST_TEST(outcome(lie) == "protocol_violation: value p1.80 is not of p2");
  BOOST_TEST(owned_values() == 1U);
  BOOST_TEST(outcome(p1->ask("m", "worker", call)) == "ok");
  BOOST_TEST(outcome(fetch(*p1, {"p1", 1, 80})) == "ok");
  BOOST_TEST(owned_values() == 2U);
}

BOOST_AUTO_TEST_CASE(a_value_that_its_creator_is_yet_to_make_stays_so_whatever_others_say) {
  const RRefId rref{"p1", 1, 50};
  p2->say("m", "rref/p1.50", msg::RRefForked{rref, {"p1", 1, 70}, "p1"});
  const Asked waiting = fetch(*p2, rref);
  BOOST_TEST(outcome(p2->ask("m", "worker", make_twice(rref))) == "protocol_violation: value p1.50 is not of p2");
  p2->say("m", "references", msg::RRefRevoked{rref, {"p1", 1, 51}, {}});
  BOOST_TEST(outcome(waiting) == "waits");
  const RRefId of_another_life{"p1", 3, 50};
  p2->say("m", "rref/p1.50", msg::RRefForked{of_another_life, {"p1", 3, 70}, "p1"});
  const Asked waiting_too = fetch(*p2, of_another_life);
  p1->say("m", "references", msg::RRefRevoked{of_another_life, {"p1", 3, 51}, {}});
  BOOST_TEST(outcome(waiting_too) == "waits");
  BOOST_TEST(outcome(p1->ask("m", "worker", make_twice(rref))) == "ok");
  BOOST_TEST(outcome(waiting) == "ok");
}

BOOST_AUTO_TEST_CASE(what_a_refused_call_carries_is_let_go) {
  RRef<Tally> tally(*node, Tally{4});
  const RRef<std::int64_t> theirs = node->remote("p1", &none_of, tally);
  auto call = heard<msg::RemoteCall>();
  tally = {};
  BOOST_REQUIRE(owned_values() == 1U);  // p1 has a handle
  call.rref = {"p1", 1, 50};
  BOOST_TEST(outcome(p2->ask("m", "worker", call)) == "protocol_violation: value p1.50 is not of p2");
  BOOST_TEST(owned_values() == 0U);
}

BOOST_AUTO_TEST_CASE(what_others_say_of_a_handle_is_nothing) {
  const auto p3 = peer("p3", 3);
  detail::References& references = core().references();
  auto handle = references.received({{"p1", 1, 5}, {"p2", 2, 9}, "p1", p1->self().incarnation, "p2", "i64"}, "p2");
  const RRefId rref = handle->id();
  const ForkId own{"p2", 2, 9};
  Error why;
  why.code = ErrorCode::ref_revoked;
  p3->say("m", "references", msg::RRefForkAck{rref, own});
  BOOST_TEST(!references.is_confirmed(*handle));
  p3->say("m", "references", msg::RRefRevoked{rref, own, why});
  BOOST_TEST(!references.failure(*handle).has_value());
  handle->copies().keep(std::make_shared<int>(1), 3);
  p3->say("m", "references", msg::RRefChanged{rref, 4});
  BOOST_TEST(handle->copies().get() != nullptr);

  p1->say("m", "references", msg::RRefForkAck{rref, own});
  const msg::RRefHandout out = references.hand_out(handle, p2->life());
  handle.reset();
  p3->say("m", "references", msg::RRefForkAck{rref, out.fork});
  BOOST_TEST(p1->take<msg::RRefDeleted>().empty());
  p2->say("m", "references", msg::RRefForkAck{rref, out.fork});  // it had a handle, and gives this one back
  BOOST_TEST(p1->take<msg::RRefDeleted>().size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing

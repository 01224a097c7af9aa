// Peers that say of handles and values what is not so.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

#include "actors/core/node_core.h"
#include "actors/core/peer_accounts.h"
#include "actors/references/references.h"
#include "tests/actors/references/among_values.h"

namespace troupe::testing {
namespace {

using detail::ValueBox;

BOOST_FIXTURE_TEST_SUITE(references_liars, AmongValues, *boost::unit_test::label("attack"))

BOOST_AUTO_TEST_CASE(a_peer_that_acknowledges_more_at_once_than_a_node_does_is_given_up) {
  const auto handle = received();
  msg::RRefForkAck ack;
  for (std::size_t i = 0; i < msg::kForkAcksMax; ++i) ack.forks.push_back({handle->id(), {"p2", 2, 9}});
  p1->say("m", "references", ack);
  BOOST_TEST(references().is_confirmed(*handle));
  BOOST_TEST(core().lives().is_up(p1->life()));
  ack.forks.push_back(ack.forks.back());
  p1->say("m", "references", ack);
  BOOST_TEST(!core().lives().is_up(p1->life()));
}

// What it says of the fork would be passed on, and never acknowledged to anybody.
BOOST_AUTO_TEST_CASE(a_handle_whose_fork_its_sender_did_not_make_is_not_kept) {
  msg::Call call;
  call.function_name = "nothing";
  call.arguments.refs = {of_p1(5, 9)};
  BOOST_TEST(outcome(p2->ask("m", "worker", call)) == "no_such_function");
  BOOST_TEST(p1->take<msg::RRefForked>().size() == 1U);
  p1->say("m", "references", msg::RRefForkAck{{{{"p1", 1, 5}, {"p2", 2, 9}}}});
  BOOST_TEST(references().forks() == 0U);
  for (const ForkId& fork : {ForkId{"x", 9, 9}, ForkId{"p2", 3, 9}, ForkId{"m", 7, 9}}) {
    call.arguments.refs = {of_p1(6, 9), of_p1(5, 9)};
    call.arguments.refs.back().fork = fork;
    BOOST_TEST(outcome(p2->ask("m", "worker", call)) == "protocol_violation");
    BOOST_TEST(p1->take<msg::RRefForked>().empty());
    BOOST_TEST(references().forks() == 0U);
  }
}

BOOST_AUTO_TEST_CASE(a_value_whose_id_is_guessed_does_not_exist) {
  const auto first = own(7);
  const auto second = own(8);
  BOOST_TEST((first->id().secret != IdSecret{}));
  BOOST_TEST((first->id().secret != second->id().secret));
  RRefId guess = first->id();
  BOOST_TEST(outcome(fetch(*p2, guess)) == "ok");  // who was told the id holds the value, also before its fork is known
  for (const IdSecret secret : {IdSecret{}, second->id().secret, IdSecret{guess.secret.low, guess.secret.high}}) {
    guess.secret = secret;
    BOOST_TEST(outcome(fetch(*p2, guess)) == "ref_revoked");
    BOOST_TEST(outcome(fetch(*p2, guess, msg::Wanted::type)) == "ref_revoked");
    p2->say("m", "", msg::RRefDeleted{guess, {"m", core().incarnation().low, 1}});
  }
  BOOST_TEST(references().owned_values() == 2U);
  BOOST_TEST(first->text().find(std::to_string(first->id().secret.low)) == std::string::npos);
}

// Otherwise a holder could take away the holds of others, and with them the value.
BOOST_AUTO_TEST_CASE(a_later_message_that_names_another_owner_changes_nothing) {
  const auto handle = own();
  const msg::RRefHandout honest{handle->id(), {"p1", 1, 9}, "m", life().incarnation, "p1", "i64"};
  msg::RRefHandout lying = honest;
  lying.fork = {"p2", 2, 9};
  lying.owner = "p2";
  lying.owner_incarnation = p2->self().incarnation;
  for (int i = 0; i < 3; ++i) {
    const auto of_p1 = received(honest, "p1");
    const auto of_p2 = received(lying, "p2");
    BOOST_TEST((of_p2->owner() == life()));
  }
  BOOST_TEST(outcome(fetch(*p1, handle->id())) == "ok");
}

// A parent that hands one fork to two nodes: whoever reports it later would wait for ever.
BOOST_AUTO_TEST_CASE(a_fork_that_another_node_holds_is_revoked_where_it_is_reported) {
  const auto handle = own();
  const auto p3 = peer("p3", 3);
  hears_all(*p3);
  const RRefId rref = handle->id();
  const ForkId fork{"p1", 1, 40};
  p2->say("m", "rref/" + rref.text(), msg::RRefForked{rref, fork, "p1"});
  p3->say("m", "rref/" + rref.text(), msg::RRefForked{rref, fork, "p1"});
  BOOST_TEST(p1->take<msg::RRefForkAck>().size() == 1U);
  BOOST_TEST(p2->take<msg::RRefRevoked>().empty());
  const auto revoked = p3->take<msg::RRefRevoked>();
  BOOST_TEST_REQUIRE(revoked.size() == 1U);
  BOOST_TEST((revoked[0].fork == fork));
  BOOST_TEST((revoked[0].error.code == ErrorCode::ref_revoked));
  BOOST_TEST(revoked[0].error.message == "another node holds handle p1.40");
  BOOST_TEST(p3->take<msg::RRefForkAck>().empty());
}

// Its maker would keep a handle that counts nowhere.
BOOST_AUTO_TEST_CASE(a_creating_call_whose_fork_another_node_holds_is_told_that_it_is_revoked) {
  const RRefId rref{"p1", 1, 5};
  const ForkId fork{"p1", 1, 6};
  p2->say("m", "", msg::RRefForked{rref, fork, "p1"});
  msg::RemoteCall call;
  call.function_name = "nothing";
  call.rref = rref;
  call.fork = fork;
  BOOST_TEST(outcome(p1->ask("m", "worker", call)) == "no_such_function");
  const auto revoked = p1->take<msg::RRefRevoked>();
  BOOST_TEST_REQUIRE(revoked.size() == 1U);
  BOOST_TEST((revoked[0].fork == fork));
  BOOST_TEST((revoked[0].error.code == ErrorCode::ref_revoked));
  BOOST_TEST(revoked[0].error.message == "another node holds handle p1.6");
  BOOST_TEST(p2->take<msg::RRefRevoked>().empty());
}

// Otherwise a peer that hands another one handles of values that do not exist uses up the quota of that one here.
BOOST_AUTO_TEST_CASE(a_value_that_no_call_has_made_is_forgotten_with_its_last_handle_and_can_still_begin) {
  const RRefId rref{"p1", 1, 5};
  const ForkId fork{"p1", 1, 6};
  const ForkId early{"p1", 1, 7};
  p2->say("m", "", msg::RRefForked{rref, fork, "p1"});
  Asked waiting = fetch(*p2, rref);
  p2->say("m", "", msg::RRefDeleted{rref, early});  // it overtook its fork
  p2->say("m", "", msg::RRefDeleted{rref, fork});
  BOOST_TEST(core().accounts().owners.counts().at("p2") == 1U);
  core().served_calls().cancelled(p2->life(), RequestId{1});
  BOOST_TEST(outcome(waiting) == "cancelled");
  BOOST_TEST(references().owned_values() == 1U);
  p2->say("m", "", msg::RRefForked{rref, early, "p1"});
  BOOST_TEST(references().owned_values() == 0U);
  BOOST_TEST(core().accounts().owners.counts().empty());
  BOOST_TEST(core().accounts().forks.counts().empty());
  waiting = fetch(*p2, rref);
  BOOST_TEST(!references().begin_value(rref, {"p1", 1, 4}, p1->life()).has_value());
  references().set_value(rref, ValueBox::of(std::int64_t{7}));
  BOOST_TEST(outcome(waiting) == "ok");
  p1->say("m", "", msg::RRefDeleted{rref, {"p1", 1, 4}});
  BOOST_TEST(references().owned_values() == 0U);
  BOOST_TEST(outcome(fetch(*p2, rref)) == "ref_revoked");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing

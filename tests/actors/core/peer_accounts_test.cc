#include "actors/core/peer_accounts.h"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>
#include <vector>

#include "actors/core/node_core.h"
#include "tests/actors/bare_peer.h"

namespace troupe::detail {
BOOST_AUTO_TEST_SUITE(peer_accounts)

namespace {

const NodeLife kTrainer{"trainer", {1, 10}};

}  // namespace

BOOST_AUTO_TEST_CASE(everything_of_a_peer_stands_in_one_line_and_peers_without_anything_in_none) {
  PeerAccounts accounts("ps0", {});
  const auto begun = std::make_shared<CreditAccount>([] {});
  accounts.loads.changed("trainer", {.waiting_calls = 1, .waiting_bytes = 2, .received = 5, .begun = begun});
  accounts.loads.changed("idle", {.received = 5, .begun = begun});
  begun->give_back(Charge::call, 0);
  begun->give_back(Charge::nested, 0);
  accounts.answers.sent(kTrainer, {std::vector<Piece>(1), 40});
  const auto value = accounts.owners.take(kTrainer);
  const auto handles = std::pair(accounts.forks.take(kTrainer), accounts.forks.take(kTrainer));
  const auto context = accounts.contexts.take({"worker", {1, 20}});
  auto peers = accounts.list();
  BOOST_TEST((peers.at("trainer") == PeerHoldings{1, 2, 3, 40, 1, 2, 0}));  // 5 calls arrived, 2 have begun
  BOOST_TEST((peers.at("worker") == PeerHoldings{.contexts = 1}));
  for (int i = 0; i < 3; ++i) begun->give_back(Charge::call, 0);
  peers = accounts.list();
  BOOST_TEST(!peers.contains("idle"));
  BOOST_TEST(peers.at("trainer").queued_calls == 0U);
  accounts.loads.ended("trainer");
  BOOST_TEST(accounts.list().at("trainer").waiting_calls == 0U);
}

struct AmongFew : testing::AmongBarePeers {
  AmongFew() : AmongBarePeers(0, {}, PeerLimits{.owners_max = 0}) {}
};

BOOST_FIXTURE_TEST_CASE(who_speaks_of_more_values_than_calls_can_make_is_given_up, AmongFew) {
  const auto p1 = peer("p1", 1);
  const auto p2 = peer("p2", 2);
  std::vector<PeerQuota::Token> tokens;
  while (tokens.size() < PeerQuota::kUnrefusedMax)
    tokens.push_back(core().accounts().owners.take_unrefused(p1->life()).token);
  p2->say("m", "rref/p3.1", msg::RRefDeleted{{"p3", 3, 1}, {"p3", 3, 2}});
  BOOST_TEST(!p2->end_of("m").has_value());
  p1->say("m", "rref/p3.2", msg::RRefDeleted{{"p3", 3, 2}, {"p3", 3, 3}});
  BOOST_TEST(p1->end_of("m").value_or("nothing") == "peer_down disconnected by the peer");
  BOOST_TEST(!p2->end_of("m").has_value());
}

BOOST_FIXTURE_TEST_CASE(an_answer_to_a_life_that_is_over_is_in_nobodys_account, AmongFew) {
  const auto p1 = peer("p1", 1);
  p1->die();
  core().send_answer(p1->life(), {1}, msg::Reply{}, {});
  BOOST_TEST(core().accounts().answers.bytes().empty());
  core().send_answer({"p1", {7, 7}}, {1}, msg::Reply{}, {});  // so long ago that this node does not remember it
  BOOST_TEST(core().accounts().answers.bytes().empty());
}

BOOST_AUTO_TEST_CASE(bounds_are_those_that_were_given_and_errors_name_their_keys) {
  PeerAccounts accounts("ps0",
                        {.answer_bytes_max = 10, .owners_max = 0, .forks_max = 0, .contexts_max = 0, .shards_max = 0});
  BOOST_TEST(accounts.owners.take(kTrainer).error().message ==
             "trainer has 0 values on ps0, at most 0 (peer.owners_max)");
  BOOST_TEST(accounts.forks.take(kTrainer).error().message ==
             "trainer has 0 handles of values on ps0, at most 0 (peer.forks_max)");
  BOOST_TEST(accounts.contexts.take(kTrainer).error().message ==
             "trainer has 0 autograd contexts on ps0, at most 0 (peer.contexts_max)");
  BOOST_TEST(accounts.shards.take(kTrainer).error().message ==
             "trainer has 0 shards of optimizers on ps0, at most 0 (peer.shards_max)");
  accounts.answers.sent(kTrainer, {std::vector<Piece>(1), 11});
  AnswerBacklog::Begin begin = [] {};
  BOOST_TEST(accounts.answers.keep(kTrainer, AnswerBacklog::Answers::any, begin));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::detail

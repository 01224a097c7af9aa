#include "actors/core/peer_quota.h"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/contexts/contexts.h"
#include "actors/core/node_core.h"
#include "actors/core/peer_accounts.h"
#include "tests/actors/bare_peer.h"

namespace troupe::detail {
namespace {

const NodeLife kFirstLife{"trainer", {1, 10}};
const NodeLife kRestarted{"trainer", {1, 11}};
const NodeLife kWorker{"worker", {1, 20}};

struct Quota {
  PeerQuota values{"ps0", "values", "peer.owners_max", 2};

  [[nodiscard]] std::size_t count(const NodeName& peer) const {
    const auto counts = values.counts();
    return counts.contains(peer) ? counts.at(peer) : 0;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(peer_quota, Quota)

BOOST_AUTO_TEST_CASE(a_thing_counts_for_its_peer_until_the_last_copy_of_its_token_goes) {
  std::optional first = values.take(kFirstLife).value();
  auto copy = *first;
  const auto second = values.take(kFirstLife).value();
  const auto of_other = values.take(kWorker).value();
  BOOST_TEST(count("trainer") == 2U);
  BOOST_TEST(count("worker") == 1U);
  first.reset();
  BOOST_TEST(count("trainer") == 2U);
  copy.reset();
  BOOST_TEST(count("trainer") == 1U);
}

BOOST_AUTO_TEST_CASE(one_more_than_may_be_is_refused_and_counts_nothing) {
  auto first = values.take(kFirstLife).value();
  const auto second = values.take(kFirstLife).value();
  const auto refused = values.take(kFirstLife);
  BOOST_REQUIRE(!refused.ok());
  BOOST_TEST((refused.error().code == ErrorCode::resource_exhausted));
  BOOST_TEST((refused.error().execution == Execution::never));
  BOOST_TEST(refused.error().peer == "ps0");
  BOOST_TEST(refused.error().message == "trainer has 2 values on ps0, at most 2 (peer.owners_max)");
  BOOST_TEST(count("trainer") == 2U);
  BOOST_TEST(values.take(kWorker).ok());
  first.reset();
  BOOST_TEST(values.take(kFirstLife).ok());
}

BOOST_AUTO_TEST_CASE(half_of_what_may_be_is_noticed) {
  BOOST_TEST(!values.is_half_used(kFirstLife));
  const auto first = values.take(kFirstLife).value();
  BOOST_TEST(values.is_half_used(kFirstLife));
  BOOST_TEST(!values.is_half_used(kRestarted));
  PeerQuota three("ps0", "values", "peer.owners_max", 3);
  const auto one = three.take(kFirstLife).value();
  BOOST_TEST(!three.is_half_used(kFirstLife));
  const auto two = three.take(kFirstLife).value();
  BOOST_TEST(three.is_half_used(kFirstLife));
}

BOOST_AUTO_TEST_CASE(each_life_of_a_name_has_a_quota_of_its_own) {
  const std::vector<PeerQuota::Token> former{values.take(kFirstLife).value(), values.take(kFirstLife).value()};
  const auto next = values.take(kRestarted);
  BOOST_TEST(next.ok());
  BOOST_TEST(count("trainer") == 3U);
}

BOOST_AUTO_TEST_CASE(what_the_node_itself_has_is_not_counted) {
  for (int i = 0; i < 3; ++i) BOOST_TEST(values.take({"ps0", {1, 1}}).value() == nullptr);
  BOOST_TEST(values.take_unrefused({"ps0", {1, 1}}).token == nullptr);
  BOOST_TEST(values.counts().empty());
}

BOOST_AUTO_TEST_CASE(words_that_cannot_be_refused_are_counted_beyond_the_bound_and_too_many_of_them_are_noticed) {
  std::vector<PeerQuota::Token> tokens;
  for (std::size_t i = 0; i < 2 + PeerQuota::kUnrefusedMax; ++i) {
    auto counted = values.take_unrefused(kFirstLife);
    BOOST_REQUIRE(!counted.is_too_much);
    tokens.push_back(std::move(counted.token));
  }
  BOOST_TEST(values.take_unrefused(kFirstLife).is_too_much);
  BOOST_TEST(!values.take(kFirstLife).ok());
  BOOST_TEST(!values.take_unrefused(kWorker).is_too_much);
  BOOST_TEST(count("trainer") == tokens.size());
  tokens.clear();
  BOOST_TEST(values.counts().empty());
}

BOOST_AUTO_TEST_CASE(a_token_may_outlive_what_it_was_taken_of) {
  auto brief = std::make_unique<PeerQuota>("ps0", "values", "peer.owners_max", 1);
  const auto token = brief->take(kFirstLife).value();
  brief.reset();
  BOOST_TEST(token != nullptr);
}

BOOST_AUTO_TEST_SUITE_END()

namespace {

/// Node m, to which p2 has brought its maximum of contexts.
struct FullOfContexts : testing::AmongBarePeers {
  FullOfContexts() {
    for (auto token = take(); token; token = take()) tokens.push_back(std::move(token).value());
  }

  [[nodiscard]] Result<PeerQuota::Token> take() { return core().accounts().contexts.take(p2->life()); }
  [[nodiscard]] Contexts& contexts() { return core().contexts(); }

  void abort(const ContextId& id) {
    Error why;
    why.code = ErrorCode::context_aborted;
    why.peer = "p3";
    why.message = "p3 took part and is gone";
    p2->say("m", "", msg::ContextAborted{id, why});
  }

  std::unique_ptr<testing::BarePeer> p1 = peer("p1", 1);
  std::unique_ptr<testing::BarePeer> p2 = peer("p2", 2);
  std::vector<PeerQuota::Token> tokens;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(peer_quota_of_contexts, FullOfContexts)

BOOST_AUTO_TEST_CASE(an_abort_is_not_refused_it_may_come_before_the_call_that_it_is_about) {
  const ContextId context{"p1", 1, 5};
  BOOST_REQUIRE(contexts().joined(context, "p2").has_value());
  BOOST_TEST(contexts().size() == 0U);
  abort(context);
  BOOST_TEST(contexts().size() == 1U);
  BOOST_TEST(core().accounts().contexts.counts().at("p2") == tokens.size() + 1);
  BOOST_TEST(!p2->end_of("m").has_value());
  // The creator learns of it, and releases the context when it has finished.
  const auto told = p1->take<msg::ContextAborted>();
  BOOST_REQUIRE(told.size() == 1U);
  BOOST_TEST((told[0].context == context));
  tokens.clear();  // the quota has room again
  BOOST_TEST(!contexts().joined(context, "p2").has_value());
  const auto result = contexts().gradients(context).get_for(Duration::zero());
  BOOST_REQUIRE((result && !result->ok()));
  BOOST_TEST(result->error().message == "p3 took part and is gone");
  p1->say("m", "", msg::ContextReleased{context});
  BOOST_TEST(contexts().size() == 0U);
  BOOST_TEST(core().accounts().contexts.counts().empty());
}

BOOST_AUTO_TEST_CASE(who_aborts_more_contexts_than_calls_can_bring_is_given_up) {
  for (std::size_t i = 0; i < PeerQuota::kUnrefusedMax; ++i) {
    tokens.push_back(core().accounts().contexts.take_unrefused(p2->life()).token);
  }
  BOOST_TEST(!p2->end_of("m").has_value());
  abort({"p1", 1, 5});
  BOOST_TEST(p2->end_of("m").has_value());
  BOOST_TEST(!p1->end_of("m").has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::detail

// Training by calls to one object: a parameter server that steps once per round, and an agent that acts for observers.
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <numeric>
#include <vector>

#include "actors/collect.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/conformance/learning_functions.h"
#include "tests/conformance/test_cluster.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(learning, *boost::unit_test::fixture<SharedCluster>())

namespace {

using namespace std::chrono_literals;
using boost::unit_test::label;
using Names = std::vector<NodeName>;

constexpr std::int64_t kEpisodes = 12;
constexpr std::int64_t kSteps = 8;  // of each observer in an episode
const Names kNodes{"p1", "p2", "p3"};

struct Learned {
  std::vector<Episode> episodes;
  Tensor weight;
};

/// Trains an agent on `owner`, with observers on kNodes.
Learned learn_on_nodes(const Scope& scope, const NodeName& owner, std::uint64_t seed) {
  const auto agent = scope.remote(owner, constructor<Agent, std::uint64_t, std::int64_t>, seed, std::ssize(kNodes));
  std::vector<RRef<Observer>> observers;
  for (const NodeName& node : kNodes)
    observers.push_back(
        scope.remote(node, constructor<Observer, std::int64_t, std::uint64_t>, std::ssize(observers), seed));
  Learned learned;
  for (std::int64_t i = 0; i < kEpisodes; ++i)
    learned.episodes.push_back(agent.rpc_sync(scope, &Agent::run_episode, agent, observers, kSteps));
  learned.weight = agent.rpc_sync(scope, &Agent::weight);
  return learned;
}

/// The same training without nodes, one observer after the other.
Learned learn_here(std::uint64_t seed) {
  Agent agent(seed, std::ssize(kNodes));
  std::vector<Environment> environments;
  for (std::uint64_t number = 0; number < kNodes.size(); ++number)
    environments.emplace_back(Generator(seed, 2 * number + 1));
  Learned learned;
  for (std::int64_t i = 0; i < kEpisodes; ++i) {
    Episode episode;
    for (std::size_t number = 0; number < environments.size(); ++number) {
      const auto observer = static_cast<std::int64_t>(number);
      auto& actions = episode.actions.emplace_back();
      for (std::int64_t step = 0; step < kSteps; ++step) {
        actions.push_back(agent.select_action(observer, environments[number].state()));
        agent.report_reward(observer, environments[number].step(actions.back()));
      }
    }
    episode.rewards = agent.finish_episode();
    learned.episodes.push_back(episode);
  }
  learned.weight = agent.weight();
  return learned;
}

double reward_of(const Episode& episode) {
  double sum = 0;
  for (const auto& rewards : episode.rewards) sum = std::accumulate(rewards.begin(), rewards.end(), sum);
  return sum;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(trainers_of_a_round_get_the_same_weights_those_of_a_local_computation, OnSharedCluster,
                        *label("H-18")) {
  constexpr std::int64_t kTrainers = 3;
  constexpr std::int64_t kRounds = 4;
  for (const NodeName owner : {"p4", "p1"}) {  // apart from the trainers, or the node of one of them
    const auto server = trainer.remote(owner, constructor<RoundServer, std::int64_t>, kTrainers);
    std::vector<Future<std::vector<Tensor>>> training;
    for (std::int64_t rank = 0; rank < kTrainers; ++rank) {
      training.push_back(
          trainer.rpc_async(kNodes[static_cast<std::size_t>(rank)], &train_in_rounds, server, rank, kRounds));
    }
    const std::vector<std::vector<Tensor>> seen = wait_all(training);
    Tensor weights = zeros({RoundServer::kFeatures, 1});
    for (std::int64_t round = 0; round < kRounds; ++round) {
      Tensor sum = zeros(weights.shape());
      for (std::int64_t rank = 0; rank < kTrainers; ++rank) sum = sum + gradient_of_round(weights, rank, round);
      weights = weights - sum * (RoundServer::kRate / kTrainers);
      for (const auto& one : seen) {
        BOOST_TEST_REQUIRE(one.size() == static_cast<std::size_t>(kRounds));
        BOOST_TEST(same_bytes(one[static_cast<std::size_t>(round)], weights), "round " << round);
      }
    }
    BOOST_TEST(server.rpc_sync(trainer, &RoundServer::steps) == kRounds);
    BOOST_TEST(same_bytes(server.rpc_sync(trainer, &RoundServer::weights), weights));
  }
}

BOOST_FIXTURE_TEST_CASE(agent_selects_all_actions_and_collects_all_rewards_as_without_nodes, OnSharedCluster,
                        *label("H-19")) {
  const Scope patient = trainer.with({.deadline = 20s});
  const Learned here = learn_here(1);
  for (const NodeName owner : {"p4", "p1", "trainer"}) {
    const Learned there = learn_on_nodes(patient, owner, 1);
    BOOST_TEST_REQUIRE(there.episodes.size() == here.episodes.size());
    for (std::size_t i = 0; i < here.episodes.size(); ++i) {
      for (const auto& rewards : there.episodes[i].rewards) BOOST_TEST(std::ssize(rewards) == kSteps);
      BOOST_TEST((there.episodes[i] == here.episodes[i]), "episode " << i);
    }
    BOOST_TEST(same_bytes(there.weight, here.weight));
  }
  BOOST_TEST((learn_on_nodes(patient, "p4", 2).episodes != here.episodes));
  double first = 0;
  double last = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    first += reward_of(here.episodes[i]);
    last += reward_of(here.episodes[here.episodes.size() - 1 - i]);
  }
  BOOST_TEST(first > 0);
  BOOST_TEST(last > first);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing

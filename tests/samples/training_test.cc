#include "samples/recommender/training.h"

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "node/local_cluster.h"
#include "node/sim/world.h"
#include "tensor/generator.h"
#include "tensor/ops.h"

BOOST_AUTO_TEST_SUITE(recommender_training)

namespace {

using namespace std::chrono_literals;
using samples::Recommender;
using samples::RecommenderSettings;
using troupe::NodeName;
using troupe::Tensor;

const std::vector<NodeName> kNodes{"master", "ps0", "ps1", "ps2", "trainer0", "trainer1"};

RecommenderSettings settings_of(const std::vector<NodeName>& trainers, std::int64_t examples, std::int64_t seed = 1) {
  return {.servers = {"ps0", "ps1", "ps2"}, .trainers = trainers, .seed = seed, .examples = examples};
}

/// Two epochs with two trainers in a simulated world, whose messages take their time.
struct Simulated {
  std::vector<Tensor> rows;
  std::uint64_t trace = 0;

  explicit Simulated(std::uint64_t seed) {
    troupe::sim::World world({.seed = seed, .link = {.drop = 0.02, .reorder = 0.1, .delay_mean = 2ms}}, kNodes,
                             samples::recommender_functions());
    rows = world
               .on("master",
                   [](troupe::Node& node) {
                     Recommender recommender(node, settings_of({"trainer0", "trainer1"}, 4'000));
                     recommender.train_epoch();
                     recommender.train_epoch();
                     return recommender.rows();
                   })
               .get();
    trace = world.trace_hash();
  }
};

bool same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!same_bytes(a[i], b.at(i))) return false;
  }
  return a.size() == b.size();
}

}  // namespace

BOOST_AUTO_TEST_CASE(one_trainer_learns_bit_for_bit_as_in_one_process) {
  troupe::LocalCluster cluster(kNodes, samples::recommender_functions());
  const RecommenderSettings settings = settings_of({"trainer0"}, 4'000);
  Recommender recommender(cluster.node("master"), settings);
  const std::vector<Tensor> first = recommender.rows();
  recommender.train_epoch();
  recommender.train_epoch();
  BOOST_TEST(!same(recommender.rows(), first));
  BOOST_TEST(same(recommender.rows(), samples::train_here(settings, 2, first)));
}

BOOST_AUTO_TEST_CASE(two_trainers_replay_bit_for_bit_in_the_simulator) {
  const Simulated first(7);
  const Simulated again(7);
  BOOST_TEST(first.trace == again.trace);
  BOOST_TEST(same(first.rows, again.rows));
  // In another world their steps interleave in another order.
  BOOST_TEST(!same(first.rows, Simulated(8).rows));
}

// A third of the epochs of the full run, which reaches 0.80 and more.
BOOST_AUTO_TEST_CASE(two_trainers_order_new_clicks_well_from_each_of_five_seeds) {
  troupe::LocalCluster cluster(kNodes, samples::recommender_functions());
  for (std::int64_t seed = 1; seed <= 5; ++seed) {
    Recommender recommender(cluster.node("master"), settings_of({"trainer0", "trainer1"}, 60'000, seed));
    recommender.train_epoch();
    recommender.train_epoch();
    const samples::ClickModel model(samples::kUsers, samples::kItems, static_cast<std::uint64_t>(seed));
    troupe::Generator generator(static_cast<std::uint64_t>(seed), 2);
    const double auc = recommender.area_under_curve_of(model.draw(10'000, generator));
    BOOST_TEST(auc >= 0.75, "seed " << seed << ": AUC " << auc);
    BOOST_TEST_MESSAGE("seed " << seed << ": AUC " << auc);
  }
}

BOOST_AUTO_TEST_SUITE_END()

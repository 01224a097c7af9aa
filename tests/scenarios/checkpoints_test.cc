// Trainings that are saved, ended and restored on other nodes.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/checkpoint/checkpoint.h"
#include "node/local_cluster.h"
#include "node/sim/faulty_link.h"
#include "tensor/create.h"
#include "tests/scenarios/resumable_training.h"
#include "tests/scenarios/training_functions.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(checkpoints)

namespace {

/// `count` nodes, all of them owners; the first one drives.
struct TrainingNodes {
  explicit TrainingNodes(int count)
      : names(names_of(count)), cluster(names, resumable_training_functions()), training(cluster.node("n0"), names) {}

  static std::vector<NodeName> names_of(int count) {
    std::vector<NodeName> names;
    for (int i = 0; i < count; ++i) names.push_back("n" + std::to_string(i));
    return names;
  }
  void kill_all() {
    for (const NodeName& name : names) cluster.kill(name);
  }

  std::vector<NodeName> names;
  LocalCluster cluster;
  ResumableTraining training;
};

}  // namespace

BOOST_AUTO_TEST_CASE(restored_training_equals_an_unbroken_one_bit_for_bit_on_any_number_of_nodes) {
  const TemporaryDirectory directory;
  const auto run = directory.path() / "run";
  std::uint64_t unbroken = 0;
  {
    TrainingNodes nodes(3);
    nodes.training.train(40);
    unbroken = nodes.training.hash();
  }
  {
    TrainingNodes nodes(3);
    nodes.training.train(22);  // 2 of the 5 batches of an epoch: the other 3 are made ahead
    nodes.training.save(run);
    nodes.training.train(3);  // lost
    nodes.kill_all();
  }
  for (const int count : {1, 2, 5}) {
    TrainingNodes nodes(count);
    nodes.training.restore(run);
    BOOST_TEST(nodes.training.steps() == 22);
    nodes.training.train(18);
    BOOST_TEST(nodes.training.hash() == unbroken, count << " nodes");
  }
}

BOOST_AUTO_TEST_CASE(save_goes_on_beside_the_training_that_it_is_a_part_of) {
  const TemporaryDirectory directory;
  const auto run = directory.path() / "run";
  TrainingNodes nodes(2);
  std::vector<std::uint64_t> saved;
  for (int i = 0; i < 3; ++i) {
    nodes.training.train(5);
    nodes.training.save(run);
  }
  nodes.training.train(5);
  const std::uint64_t expected = nodes.training.hash();
  nodes.training.restore(run);
  BOOST_TEST(nodes.training.steps() == 15);
  nodes.training.train(5);
  BOOST_TEST(nodes.training.hash() == expected);
}

namespace {

/// Nodes whose messages are watched.
struct WatchedNodes {
  using Watch = std::function<void(std::size_t bytes)>;

  explicit WatchedNodes(Watch watch)
      : cluster({"trainer", "ps"}, training_functions(), options(std::move(watch))), trainer(cluster.node("trainer")) {}

  static LocalClusterOptions options(Watch watch) {
    LocalClusterOptions options;
    options.wrap_link = [watch = std::move(watch)](std::unique_ptr<Link> link) {
      return std::make_unique<sim::FaultyLink>(std::move(link), [watch](const NodeName&, const Frames& frames) {
        std::size_t bytes = 0;
        for (const Frame& frame : frames) bytes += frame.bytes.size();
        watch(bytes);
        return sim::Fate(std::chrono::microseconds(0));
      });
    };
    return options;
  }

  TemporaryDirectory directory;
  std::filesystem::path run = directory.path() / "run";
  LocalCluster cluster;
  Node& trainer;
};

}  // namespace

BOOST_AUTO_TEST_CASE(no_message_has_the_size_of_a_model) {
  std::atomic<std::size_t> largest = 0;
  WatchedNodes nodes([&](std::size_t bytes) {
    std::size_t seen = largest;
    while (bytes > seen && !largest.compare_exchange_weak(seen, bytes)) {
    }
  });
  constexpr std::int64_t kSize = 1'000'000;  // 4 MB
  const auto w = nodes.trainer.remote("ps", &make_parameter, kSize, 1.5);
  const CheckpointOptions options{.chunk_bytes = 100'000};
  Checkpoint(options).add("w", {{"w", w}}).save(nodes.trainer, nodes.run);
  const auto restored = nodes.trainer.remote("ps", &make_parameter, kSize, 0.0);
  Checkpoint(options).add("w", {{"w", restored}}).restore(nodes.trainer, nodes.run);
  BOOST_TEST(largest.load() >= 100'000U);
  BOOST_TEST(largest.load() < 102'000U);
  BOOST_TEST(same_bytes(nodes.trainer.rpc_sync("ps", &value_of, restored), full({kSize}, 1.5)));
}

BOOST_AUTO_TEST_CASE(state_that_changes_during_each_snapshot_is_not_saved_and_one_that_changes_once_is) {
  std::atomic<int> changes = 0;
  const Variable w(zeros({2}), RequiresGrad::yes);
  double value = 0;
  std::mutex mutex;
  WatchedNodes nodes([&](std::size_t) {
    const std::lock_guard lock(mutex);
    if (changes > 0) {
      --changes;
      w.set_value(full({2}, ++value));
    }
  });
  // Of another node, so that messages travel during a snapshot of it.
  const RRef<Variable> here(nodes.trainer, w);
  const auto other = nodes.trainer.remote("ps", &make_parameter, 2, 1.0);
  Checkpoint list;
  list.add("w", {{"w", here}, {"other", other}});
  changes = 1'000'000;
  const Error error = error_of([&] { return list.save(nodes.trainer, nodes.run), 0; });
  BOOST_TEST((error.code == ErrorCode::timeout), error.text());
  BOOST_TEST(error.message == "parameters changed during each of 10 snapshots: save between steps");
  BOOST_TEST(!has_checkpoint(nodes.run));

  changes = 3;
  list.save(nodes.trainer, nodes.run);
  BOOST_TEST(changes == 0);
  const Tensor saved = w.value();
  w.set_value(zeros({2}));
  list.restore(nodes.trainer, nodes.run);
  BOOST_TEST(same_bytes(w.value(), saved));
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing

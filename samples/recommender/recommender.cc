// A recommender whose tables of users and items are spread over servers: trainers look rows up, and each server steps
// the rows that it has. Run alone it has all nodes in one process; `troupe up samples/recommender/cluster.toml` runs it
// as six.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "actors/checkpoint/checkpoint.h"
#include "node/local_cluster.h"
#include "node/node.h"
#include "samples/command_line.h"
#include "samples/program.h"
#include "samples/recommender/clicks.h"
#include "samples/recommender/training.h"
#include "samples/saves.h"
#include "tensor/ops.h"

using namespace troupe;
using namespace samples;

struct Settings {
  RecommenderSettings training;
  std::int64_t epochs = 6;
  bool check = false;  ///< compare with the same training without nodes
  SaveOptions saves;
};

void lead(const Node& master, const Settings& settings) {
  Recommender recommender(master, settings.training);
  const std::vector<Tensor> first_rows = recommender.rows();
  SavedNumbers numbers;
  numbers.add_setting("--seed", settings.training.seed);
  Checkpoint checkpoint;
  recommender.add_to(checkpoint);
  checkpoint.add("settings", numbers);
  if (settings.saves.restore(master, checkpoint)) fmt::print("goes on after epoch {}\n", recommender.epochs());

  while (recommender.epochs() < settings.epochs) {
    const double loss = recommender.train_epoch();
    settings.saves.save(master, checkpoint);
    fmt::print("epoch {}: mean loss {:.3f}\n", recommender.epochs(), loss);
    std::fflush(stdout);
  }
  const auto seed = static_cast<std::uint64_t>(settings.training.seed);
  const ClickModel model(kUsers, kItems, seed);
  Generator generator(seed, 2);
  const Clicks unseen = model.draw(10'000, generator);
  fmt::print("AUC of {} new clicks: {:.3f} (the probabilities themselves: {:.3f})\n", unseen.count(),
             recommender.area_under_curve_of(unseen), area_under_curve(model.probabilities(unseen), unseen.clicked));
  if (!settings.check) return;
  const std::vector<Tensor> apart = recommender.rows();
  const std::vector<Tensor> here = train_here(settings.training, settings.epochs, first_rows);
  const double off = std::max(max(abs(apart[0] - here[0])).item(), max(abs(apart[1] - here[1])).item());
  fmt::print("rows are those of one process within {:.1e}\n", off);
}

int run(int argc, char** argv) {
  Settings settings;
  CommandLine line("Learns who clicks what, with tables over several servers: all nodes in this process, or one each.");
  line.add("--epochs", settings.epochs, "passes over the data", {1, 1'000});
  line.add("--seed", settings.training.seed, "of the clicks and the first values");
  line.add("--staleness", settings.training.staleness, "steps that a trainer may be ahead of the slowest one");
  line.add_flag("--check", settings.check, "compare with one process; with one trainer only");
  settings.saves.add_to(line, "after each epoch");
  if (const auto status = line.parse(argc, argv)) return *status;

  const NodeOptions options = NodeOptions::from_environment();
  if (options.world_size == 1) {
    settings.training.servers = {"ps0", "ps1", "ps2"};
    settings.training.trainers = {"trainer"};
    LocalCluster cluster({"master", "trainer", "ps0", "ps1", "ps2"}, recommender_functions());
    lead(cluster.node("master"), settings);
    return 0;
  }
  Node node = Node::join(options, recommender_functions());
  settings.training.servers = node.role("ps").names();
  settings.training.trainers = node.role("trainer").names();
  if (options.role == "master") lead(node, settings);
  node.serve();
  node.shutdown();
  return 0;
}

int main(int argc, char** argv) { return run_program(run, argc, argv); }

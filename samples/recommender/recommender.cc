// A recommender whose tables of users and items are spread over servers: trainers look rows up, and each server steps
// the rows that it has. Run alone it has all nodes in one process; `troupe up samples/recommender/cluster.toml` runs it
// as six. `--checkpoint DIR` saves after every epoch, and goes on from there.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "actors/checkpoint/checkpoint.h"
#include "actors/data/distributed_sampler.h"
#include "actors/dist_autograd.h"
#include "actors/dist_optimizer.h"
#include "actors/embedding/sharded_embedding.h"
#include "autograd/engine.h"
#include "autograd/ops.h"
#include "autograd/ops/loss.h"
#include "node/local_cluster.h"
#include "node/node.h"
#include "optim/local_optimizer.h"
#include "samples/program.h"
#include "samples/recommender/clicks.h"
#include "tensor/create.h"
#include "tensor/ops.h"

using namespace troupe;
using namespace samples;

constexpr std::int64_t kUsers = 400;
constexpr std::int64_t kItems = 200;
constexpr std::int64_t kWidth = 8;
constexpr std::int64_t kBatch = 200;
constexpr std::int64_t kExamples = 60'000;
constexpr optim::SgdOptions kRule{.lr = 30.0};  // a mean over the batch: each row gets few of its gradients

struct Settings {
  std::vector<NodeName> servers;
  std::vector<NodeName> trainers;
  std::int64_t epochs = 6;
  std::int64_t seed = 1;
  std::string checkpoint;  ///< its directory; empty: none
  bool check = false;      ///< compare with the same training without nodes
};

EmbeddingTable table_of(std::int64_t rows, std::int64_t seed) {
  return {.rows = rows, .width = kWidth, .seed = static_cast<std::uint64_t>(seed), .deviation = 0.3};
}

Clicks training_clicks(std::int64_t seed) {
  Generator generator(static_cast<std::uint64_t>(seed), 1);
  return ClickModel(kUsers, kItems, static_cast<std::uint64_t>(seed)).draw(kExamples, generator);
}

Variable loss_of(const Variable& users, const Variable& items, const Tensor& clicked) {
  return bce_with_logits(sum(users * items, 1), clicked);
}

/// Runs on every trainer: its share of one epoch. Returns the mean loss.
double train_epoch(Scope& scope, const ShardedEmbedding& users, const ShardedEmbedding& items, std::int64_t seed,
                   std::int64_t epoch, std::int64_t rank, std::int64_t ranks) {
  const Clicks clicks = training_clicks(seed);
  std::vector<RRef<Variable>> parameters = users.parameters(scope);
  for (auto& parameter : items.parameters(scope)) parameters.push_back(std::move(parameter));
  const DistOptimizer optimizer(scope, kRule, parameters, StepMode::hogwild);
  DistributedSampler sampler({.examples = clicks.count(), .ranks = ranks, .rank = rank, .remainder = Remainder::drop});
  double sum = 0;
  std::int64_t batches = 0;
  for (sampler.set_epoch(epoch); sampler.remaining() >= kBatch; ++batches) {
    const Clicks batch = clicks.at(sampler.next(kBatch));
    const DistContext context(scope);
    PendingRows of_users = users.prefetch(context, batch.users);  // both tables at once
    PendingRows of_items = items.prefetch(context, batch.items);
    const Variable user_rows = of_users.get();
    const Variable loss = loss_of(user_rows, of_items.get(), batch.clicked);
    backward(context, loss);
    optimizer.step(context);
    sum += loss.item();
  }
  return sum / static_cast<double>(batches);
}

/// The same training in this process, without nodes. Returns both tables.
std::vector<Tensor> train_here(const Settings& settings, const std::vector<Tensor>& first_rows) {
  const Clicks clicks = training_clicks(settings.seed);
  const Variable users(first_rows[0].clone(), RequiresGrad::yes);
  const Variable items(first_rows[1].clone(), RequiresGrad::yes);
  optim::LocalOptimizer optimizer(std::vector{users, items}, kRule);
  DistributedSampler sampler({.examples = clicks.count(), .remainder = Remainder::drop});
  for (std::int64_t epoch = 0; epoch < settings.epochs; ++epoch) {
    for (sampler.set_epoch(epoch); sampler.remaining() >= kBatch;) {
      const Clicks batch = clicks.at(sampler.next(kBatch));
      optimizer.step(backward(loss_of(embedding(users, batch.users), embedding(items, batch.items), batch.clicked)));
    }
  }
  return {users.value(), items.value()};
}

Tensor all_rows(const Scope& scope, const ShardedEmbedding& table) {
  return table.pull_rows(scope, arange(table.table().rows));
}

void lead(const Node& master, const Settings& settings) {
  const Scope whole_run = master.with({.deadline = Deadline::while_peer_lives()});
  const ShardedEmbedding users(master, settings.servers, table_of(kUsers, 2 * settings.seed));
  const ShardedEmbedding items(master, settings.servers, table_of(kItems, 2 * settings.seed + 1));
  const std::vector<Tensor> first_rows{all_rows(master, users), all_rows(master, items)};
  std::int64_t epoch = 0;
  Checkpoint checkpoint;
  checkpoint.add("users", users).add("items", items).add("epoch", epoch);
  if (has_checkpoint(settings.checkpoint)) {
    checkpoint.restore(master, settings.checkpoint);
    fmt::print("{} epochs were done before\n", epoch);
  }

  const ClickModel model(kUsers, kItems, static_cast<std::uint64_t>(settings.seed));
  Generator generator(static_cast<std::uint64_t>(settings.seed), 2);
  const Clicks unseen = model.draw(10'000, generator);
  const double best = area_under_curve(model.probabilities(unseen), unseen.clicked);
  const auto ranks = std::ssize(settings.trainers);
  while (epoch < settings.epochs) {
    std::vector<Future<double>> running;
    for (const NodeName& trainer : settings.trainers) {
      running.push_back(whole_run.rpc_async(trainer, &train_epoch, users, items, settings.seed, epoch,
                                            std::int64_t{std::ssize(running)}, std::int64_t{ranks}));
    }
    double loss = 0;
    for (const auto& trainer : running) loss += trainer.get() / static_cast<double>(ranks);
    ++epoch;
    if (!settings.checkpoint.empty()) checkpoint.save(master, settings.checkpoint);
    fmt::print("epoch {}: mean loss {:.3f}\n", epoch, loss);
  }
  const Tensor scores = sum(users.pull_rows(master, unseen.users) * items.pull_rows(master, unseen.items), 1);
  fmt::print("AUC of {} new clicks: {:.3f} (the probabilities themselves: {:.3f})\n", unseen.count(),
             area_under_curve(scores, unseen.clicked), best);
  if (!settings.check) return;
  const std::vector<Tensor> here = train_here(settings, first_rows);
  const double off =
      std::max(max(abs(all_rows(master, users) - here[0])).item(), max(abs(all_rows(master, items) - here[1])).item());
  fmt::print("rows are those of one process within {:.1e}\n", off);
}

int run(int argc, char** argv) {
  Settings settings;
  CLI::App app("Learns who clicks what, with tables over several servers: all nodes in this process, or one each.");
  app.add_option("--epochs", settings.epochs)->check(CLI::Range(1, 1'000))->capture_default_str();
  app.add_option("--seed", settings.seed, "of the clicks and the first values")->capture_default_str();
  app.add_option("--checkpoint", settings.checkpoint, "the directory to save to after each epoch, and to go on from");
  app.add_flag("--check", settings.check, "compare with one process; with one trainer only");
  CLI11_PARSE(app, argc, argv);

  const FunctionRegistry functions{{"train_epoch", &train_epoch}};
  const NodeOptions options = NodeOptions::from_environment();
  if (options.world_size == 1) {
    settings.servers = {"ps0", "ps1", "ps2"};
    settings.trainers = {"trainer"};
    LocalCluster cluster({"master", "trainer", "ps0", "ps1", "ps2"}, functions);
    lead(cluster.node("master"), settings);
    return 0;
  }
  Node node = Node::join(options, functions);
  settings.servers = node.role("ps").names();
  settings.trainers = node.role("trainer").names();
  if (options.role == "master") lead(node, settings);
  node.serve();
  node.shutdown();
  return 0;
}

int main(int argc, char** argv) { return run_program(run, argc, argv); }

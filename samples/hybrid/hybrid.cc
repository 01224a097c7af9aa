// Data-parallel trainers beside a parameter server: the table of word vectors is on `ps`, every trainer has a replica
// of the layer above it. Run alone it has all nodes in one process; `troupe up samples/hybrid/cluster.toml` runs it as
// four.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "actors/checkpoint/checkpoint.h"
#include "actors/data_parallel.h"
#include "actors/dist_autograd.h"
#include "actors/dist_optimizer.h"
#include "actors/remote_module.h"
#include "autograd/engine.h"
#include "autograd/nn/embedding.h"
#include "autograd/nn/linear.h"
#include "autograd/ops.h"
#include "autograd/ops/loss.h"
#include "node/gloo_collective.h"
#include "node/local_cluster.h"
#include "optim/local_optimizer.h"
#include "samples/command_line.h"
#include "samples/program.h"
#include "samples/saves.h"
#include "samples/weights.h"
#include "tensor/create.h"
#include "tensor/ops.h"

using namespace troupe;
using samples::CommandLine;
using samples::difference;
using samples::run_program;
using samples::SaveOptions;

constexpr std::int64_t kWords = 100;
constexpr std::int64_t kWidth = 16;
constexpr std::int64_t kClasses = 8;
constexpr std::uint64_t kSeed = 1;
constexpr optim::SgdOptions kRule{.lr = 0.05};

struct Settings {
  std::vector<NodeName> trainers;
  std::int64_t epochs = 100;
  std::int64_t batches = 10;  ///< of an epoch, for each trainer
  bool check = false;         ///< trainers step in turn, and each pass sees all steps before it, as in one process
  SaveOptions saves;          ///< on the first trainer
};

/// Some bags of words. The label of a bag is the commonest remainder of its words by kClasses.
struct Batch {
  Tensor words;    ///< (words)
  Tensor offsets;  ///< (bags): where each begins
  Tensor labels;   ///< (bags)
};

Batch draw_batch(Generator& generator) {
  const auto below = [&](std::uint64_t limit) { return static_cast<std::int64_t>(generator.below(limit)); };
  std::vector<std::int64_t> words(static_cast<std::size_t>(20 + below(31)));
  for (std::int64_t& word : words) word = below(kWords);
  std::vector<std::int64_t> offsets;
  std::vector<std::int64_t> labels;
  for (std::size_t begin = 0, end = 0; begin < words.size(); begin = end) {
    end = std::min(words.size(), begin + 2 + static_cast<std::size_t>(below(5)));
    std::array<int, kClasses> counts{};
    for (std::size_t i = begin; i < end; ++i) ++counts[static_cast<std::size_t>(words[i] % kClasses)];
    offsets.push_back(static_cast<std::int64_t>(begin));
    labels.push_back(std::max_element(counts.begin(), counts.end()) - counts.begin());
  }
  const auto count = static_cast<std::int64_t>(offsets.size());
  return {from_values<std::int64_t>(words, {static_cast<std::int64_t>(words.size())}),
          from_values<std::int64_t>(offsets, {count}), from_values<std::int64_t>(labels, {count})};
}

/// Of a trainer's batches in an epoch.
Generator data_of(std::size_t rank, std::int64_t epoch) {
  return Generator(100 + rank, static_cast<std::uint64_t>(epoch));
}

/// Word vectors, averaged over each bag. On the server.
class Table final : public nn::Module {
 public:
  explicit Table(std::uint64_t seed) {
    Generator generator(seed);
    bags_ = add_module("bags", std::make_shared<nn::EmbeddingBag>(kWords, kWidth, generator));
  }
  [[nodiscard]] Variable forward(const Tensor& words, const Tensor& offsets) { return bags_->forward(words, offsets); }

 private:
  std::shared_ptr<nn::EmbeddingBag> bags_;
};
constexpr auto table_class = module_class<Table, std::uint64_t>;

/// The scores of the classes. On every trainer.
std::shared_ptr<nn::Linear> make_dense(std::uint64_t seed) {
  Generator generator(seed);
  return std::make_shared<nn::Linear>(kWidth, kClasses, generator);
}

/// Steps the parameters of a trainer's pass. In a check the trainers step one after the other, by rank, with a barrier
/// after each: so does one process, and its sums have the same order.
void step(const Scope& scope, const DistContext& context, Collective& members, const DistOptimizer& optimizer,
          const Settings& settings) {
  if (!settings.check) return optimizer.step(context);
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    if (rank == members.rank()) optimizer.step(context);
    members.barrier(scope);
  }
}

/// Runs on every trainer: the layer's gradients are means over all trainers, those of the table are each trainer's own.
/// The first one has the checkpoint: the rule has no state, and the number of the epoch says which batches come next.
/// Returns the weights of the replica.
std::vector<Tensor> train(Scope& scope, const RemoteModule<Table>& table, const Settings& settings) {
  const auto members = gloo_collective(scope, Group(settings.trainers));
  const bool is_first = members->rank() == 0;
  const auto layer = make_dense(kSeed + members->rank());
  std::int64_t epoch = 0;  // so many are done
  Checkpoint checkpoint;
  checkpoint.add("table", table).add("dense", *layer).add("epoch", epoch);
  if (is_first && settings.saves.restore(scope, checkpoint)) fmt::print("goes on after epoch {}\n", epoch);
  epoch = members->broadcast(scope, settings.trainers.front(), scalar(epoch)).item<std::int64_t>();
  const DataParallel dense(scope, members, layer);  // all get the parameters of the first
  std::vector<RRef<Variable>> parameters = table.remote_parameters(scope);
  for (auto& parameter : parameters_of(scope, dense.module())) parameters.push_back(std::move(parameter));
  const DistOptimizer optimizer(scope, kRule, parameters, StepMode::hogwild);
  while (epoch < settings.epochs) {
    Generator data = data_of(members->rank(), epoch);
    double sum = 0;
    for (std::int64_t i = 0; i < settings.batches; ++i) {
      const Batch batch = draw_batch(data);
      const DistContext context(scope);
      const Variable loss =
          cross_entropy(dense.forward(context, table.forward(context, batch.words, batch.offsets)), batch.labels);
      backward(context, loss);
      step(scope, context, *members, optimizer, settings);
      sum += loss.item();
    }
    ++epoch;
    if (!settings.saves.directory.empty()) {
      members->barrier(scope);  // all have stepped, and none begins the next epoch
      if (is_first) settings.saves.save(scope, checkpoint);
      members->barrier(scope);
    }
    if (epoch != 1 && epoch % std::max<std::int64_t>(1, settings.epochs / 5) != 0) continue;
    fmt::print("{}: training done for epoch {}, mean loss {:.3f}\n", scope.node_name(), epoch,
               sum / static_cast<double>(settings.batches));
    std::fflush(stdout);
  }
  std::vector<Tensor> weights;
  for (const Variable& weight : dense.module().parameters()) weights.push_back(weight.value());
  return weights;
}

/// The same training in this process, without nodes. Returns all weights, the table's first.
std::vector<Tensor> train_here(const Settings& settings) {
  Table table(kSeed);
  const auto dense = make_dense(kSeed);
  const std::vector<Variable> of_table = table.parameters();
  const std::vector<Variable> of_dense = dense->parameters();
  const auto count = static_cast<double>(settings.trainers.size());
  optim::LocalOptimizer table_steps(of_table, kRule);
  optim::LocalOptimizer dense_steps(of_dense, kRule);
  std::vector<Generator> data;
  for (std::int64_t step = 0; step < settings.epochs * settings.batches; ++step) {
    if (step % settings.batches == 0) {
      data.clear();
      for (std::size_t rank = 0; rank < settings.trainers.size(); ++rank)
        data.push_back(data_of(rank, step / settings.batches));
    }
    std::vector<Gradients> each;
    for (Generator& own : data) {
      const Batch batch = draw_batch(own);
      each.push_back(backward(cross_entropy(dense->forward(table.forward(batch.words, batch.offsets)), batch.labels)));
    }
    for (const Gradients& one : each) table_steps.step(one);
    Gradients means;
    for (const Variable& weight : of_dense) {
      Tensor sum = each.front().of(weight);
      for (std::size_t rank = 1; rank < each.size(); ++rank) sum = sum + each[rank].of(weight);
      means.add(weight, sum / count);
    }
    dense_steps.step(means);
  }
  std::vector<Tensor> weights;
  for (const Variable& weight : of_table) weights.push_back(weight.value());
  for (const Variable& weight : of_dense) weights.push_back(weight.value());
  return weights;
}

void lead(const Node& master, const Settings& settings) {
  const Scope whole_run = master.with({.deadline = Deadline::while_peer_lives()});
  const RemoteModule<Table> table(master, "ps", table_class, kSeed);
  std::vector<Future<std::vector<Tensor>>> running;
  for (const NodeName& trainer : settings.trainers) {
    running.push_back(whole_run.rpc_async(trainer, &train, table, settings));
  }
  std::vector<std::vector<Tensor>> replicas;
  for (const auto& one : running) replicas.push_back(one.get());
  double apart = 0;
  for (const std::vector<Tensor>& replica : replicas) apart = std::max(apart, difference(replica, replicas[0]));
  fmt::print("replicas differ by {:.1e}\n", apart);
  if (!settings.check) return;
  std::vector<Tensor> weights;
  for (const auto& parameter : table.remote_parameters(master)) {
    weights.push_back(parameter.to_here(master).value());
  }
  weights.insert(weights.end(), replicas[0].begin(), replicas[0].end());
  fmt::print("weights are those of one process within {:.1e}\n", difference(weights, train_here(settings)));
}

int run(int argc, char** argv) {
  Settings settings;
  CommandLine line(
      "Trains word vectors on a server and a layer on every trainer: all nodes in this process, or one each.");
  line.add("--epochs", settings.epochs, "passes over the data", {1, 100'000});
  line.add_flag("--check", settings.check, "steps in turn, and a comparison with one process");
  settings.saves.add_to(line, "after each epoch, by the first trainer");
  if (const auto status = line.parse(argc, argv)) return *status;

  const FunctionRegistry functions{{"Table", table_class}, {"train", &train}};
  const NodeOptions options = NodeOptions::from_environment();
  if (options.world_size == 1) {
    settings.trainers = {"trainer0", "trainer1"};
    LocalCluster cluster({"master", "ps", "trainer0", "trainer1"}, functions);
    lead(cluster.node("master"), settings);
    return 0;
  }
  Node node = Node::join(options, functions);
  settings.trainers = node.role("trainer").names();
  if (options.role == "master") lead(node, settings);
  node.serve();
  node.shutdown();
  return 0;
}

int main(int argc, char** argv) { return run_program(run, argc, argv); }

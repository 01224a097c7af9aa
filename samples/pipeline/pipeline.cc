// ResNet-50 on two nodes: each batch is split, so that one half of the network computes with one split while the other
// half computes with the split before. Run alone it has all nodes in one process;
// `troupe up samples/pipeline/cluster.toml` runs it as three.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "actors/checkpoint/checkpoint.h"
#include "actors/dist_autograd.h"
#include "actors/dist_optimizer.h"
#include "actors/pipeline.h"
#include "actors/remote_module.h"
#include "autograd/engine.h"
#include "autograd/ops.h"
#include "autograd/ops/loss.h"
#include "node/local_cluster.h"
#include "optim/local_optimizer.h"
#include "samples/command_line.h"
#include "samples/pipeline/resnet.h"
#include "samples/program.h"
#include "samples/saves.h"
#include "tensor/create.h"
#include "tensor/ops.h"

using namespace troupe;
using namespace samples;

constexpr auto first_half = stage_class<FirstHalf, std::uint64_t>;
constexpr auto second_half = stage_class<SecondHalf, std::uint64_t, std::int64_t>;
constexpr std::uint64_t kFirstSeed = 1;
constexpr std::uint64_t kSecondSeed = 2;
constexpr optim::SgdOptions kRule{.lr = 0.05};

struct Settings {
  std::int64_t batch = 16;
  std::int64_t batches = 3;
  std::int64_t image = 64;  ///< width and height
  std::int64_t classes = 100;
  std::vector<std::int64_t> splits{1, 2, 4, 8};
  SaveOptions saves;
};

struct Batch {
  Tensor images;
  Tensor labels;  ///< 1 at each image's class, 0 elsewhere
};

std::vector<Batch> draw_batches(const Settings& settings) {
  Generator generator(3);
  std::vector<Batch> batches;
  for (std::int64_t i = 0; i < settings.batches; ++i) {
    Tensor images = randn({settings.batch, 3, settings.image, settings.image}, generator);
    Tensor labels = zeros({settings.batch, settings.classes});
    for (std::int64_t row = 0; row < settings.batch; ++row) {
      const auto label = static_cast<std::int64_t>(generator.below(static_cast<std::uint64_t>(settings.classes)));
      labels.select(0, row).select(0, label).fill(1.0);
    }
    batches.push_back({std::move(images), std::move(labels)});
  }
  return batches;
}

/// A training of one row of the table, as far as it has come.
struct Outcome {
  std::vector<double> seconds;  ///< of each batch that is done
  double loss = 0;              ///< of the last one
  std::vector<Tensor> weights;  ///< after the last step
};

/// The whole run, as far as it has come.
struct Progress {
  std::int64_t row = 0;                                       ///< that is being trained
  Outcome on_workers;                                         ///< of this row
  double worst = 0;                                           ///< the distance from one process, of the rows before
  double smallest = std::numeric_limits<double>::infinity();  ///< by how much a row before changed the weights
  bool has_begun = false;
};

/// Calls `step(batch)`, which returns the loss, for each batch that is not done, and `done()` after it.
template <class Step, class Done>
void run_batches(Outcome& outcome, const std::vector<Batch>& batches, const Step& step, const Done& done) {
  while (outcome.seconds.size() < batches.size()) {
    const auto begin = std::chrono::steady_clock::now();
    outcome.loss = step(batches[outcome.seconds.size()]);
    outcome.seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    done();
  }
}

double median(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return seconds[(seconds.size() - 1) / 2];
}

/// What the checkpoint has besides the network.
SavedNumbers numbers_of(Progress& progress, const Settings& settings) {
  SavedNumbers numbers;
  numbers.add("loss", progress.on_workers.loss).add("worst", progress.worst).add("smallest", progress.smallest);
  numbers.add_setting("--batch", settings.batch).add_setting("--batches", settings.batches);
  numbers.add_setting("--image", settings.image).add_setting("--classes", settings.classes);
  for (std::size_t i = 0; i < settings.splits.size(); ++i) {
    numbers.add_setting(fmt::format("--splits, number {},", i + 1), settings.splits[i]);
  }
  return numbers;
}

/// Trains the network of a row. The first call goes on from the checkpoint, which says in which row.
void train_on_workers(const Node& master, const std::vector<NodeName>& workers, const Settings& settings,
                      const std::vector<Batch>& batches, Progress& progress) {
  const RemoteModule first(master, workers.at(0), first_half, kFirstSeed);
  const RemoteModule second(master, workers.at(1), second_half, kSecondSeed, settings.classes);
  std::vector<RRef<Variable>> parameters = first.remote_parameters(master);
  for (auto& parameter : second.remote_parameters(master)) parameters.push_back(std::move(parameter));
  DistOptimizer optimizer(master, kRule, parameters);

  Outcome& outcome = progress.on_workers;
  SavedNumbers numbers = numbers_of(progress, settings);
  SavedNumbers times;
  times.add("seconds", outcome.seconds);
  Checkpoint checkpoint;
  checkpoint.add("first", first).add("second", second).add("optimizer", optimizer);
  checkpoint.add("row", progress.row).add("numbers", numbers).add("times", times);
  if (!std::exchange(progress.has_begun, true) && settings.saves.restore(master, checkpoint)) {
    fmt::print("goes on after {} batches of row {}\n", outcome.seconds.size(), progress.row + 1);
  }

  const std::int64_t splits = settings.splits.at(static_cast<std::size_t>(progress.row));
  const Pipeline net(master, {first, second}, {.chunks = splits});
  const auto step = [&](const Batch& batch) {
    DistContext context(master);
    const Variable loss = mse_loss(net.forward(context, batch.images), batch.labels);
    backward(context, loss);
    optimizer.step(context);
    return loss.item();
  };
  run_batches(outcome, batches, step, [&] {
    if (settings.saves.directory.empty()) return;
    settings.saves.save(master, checkpoint);
    fmt::print("saved after {} batches of row {}\n", outcome.seconds.size(), progress.row + 1);
    std::fflush(stdout);
  });
  outcome.weights.clear();
  for (const auto& parameter : parameters) outcome.weights.push_back(parameter.to_here(master).value());
}

/// The same network and splits in this process, without nodes.
Outcome train_here(const Settings& settings, const std::vector<Batch>& batches, std::int64_t splits) {
  FirstHalf first(kFirstSeed);
  SecondHalf second(kSecondSeed, settings.classes);
  std::vector<Variable> parameters = first.parameters();
  for (const Variable& parameter : second.parameters()) parameters.push_back(parameter);
  optim::LocalOptimizer optimizer(parameters, kRule);
  const auto step = [&](const Batch& batch) {
    std::vector<Variable> scores;
    for (const Tensor& part : split(batch.images, settings.batch / splits, 0)) {
      scores.push_back(second.forward(first.forward(part)));
    }
    const Variable loss = mse_loss(concat(scores, 0), batch.labels);
    optimizer.step(backward(loss));
    return loss.item();
  };
  Outcome outcome;
  run_batches(outcome, batches, step, [] {});
  for (const Variable& parameter : parameters) outcome.weights.push_back(parameter.value());
  return outcome;
}

/// The norm of the difference of two lists of weights, relative to that of the second.
double difference(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  double off = 0;
  double all = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Tensor apart = (a[i] - b[i]).to(DType::f64);
    const Tensor weights = b[i].to(DType::f64);
    off += sum(apart * apart).item();
    all += sum(weights * weights).item();
  }
  return std::sqrt(off / all);
}

std::vector<Tensor> first_weights(const Settings& settings) {
  const FirstHalf first(kFirstSeed);
  const SecondHalf second(kSecondSeed, settings.classes);
  std::vector<Tensor> weights;
  for (const Variable& parameter : first.parameters()) weights.push_back(parameter.value());
  for (const Variable& parameter : second.parameters()) weights.push_back(parameter.value());
  return weights;
}

void compare(const Node& master, const std::vector<NodeName>& workers, const Settings& settings) {
  const std::vector<Batch> batches = draw_batches(settings);
  const std::vector<Tensor> before = first_weights(settings);
  fmt::print("{} batches of {} images, {} x {}\n", settings.batches, settings.batch, settings.image, settings.image);
  fmt::print("splits  two nodes  one process   ratio     loss  weights changed by  off from one process\n");
  Progress progress;
  for (; progress.row < std::ssize(settings.splits); ++progress.row) {
    train_on_workers(master, workers, settings, batches, progress);  // may go on in another row
    const std::int64_t splits = settings.splits.at(static_cast<std::size_t>(progress.row));
    const Outcome apart = std::exchange(progress.on_workers, {});
    const Outcome here = train_here(settings, batches, splits);
    const double off = difference(apart.weights, here.weights);
    const double changed = difference(apart.weights, before);
    progress.smallest = std::min(progress.smallest, changed);
    progress.worst = std::max(progress.worst, off);
    fmt::print("{:6} {:8.3f} s {:10.3f} s {:7.2f} {:8.4f} {:19.1e} {:21.1e}\n", splits, median(apart.seconds),
               median(here.seconds), median(here.seconds) / median(apart.seconds), apart.loss, changed, off);
    std::fflush(stdout);
  }
  if (!(progress.smallest > 0)) throw std::runtime_error("training did not change the weights");
  fmt::print("training changed the weights by at least {:.1e}\n", progress.smallest);
  fmt::print("weights are those of one process within {:.1e}\n", progress.worst);
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  Settings settings;
  CommandLine line(
      "Trains ResNet-50 in two halves: all nodes in this process, or one each with `troupe up cluster.toml`.");
  line.add("--batch", settings.batch, "images of a batch", {1, 4'096});
  line.add("--batches", settings.batches, "how many, for each number of splits", {1, 10'000});
  line.add("--image", settings.image, "width and height", {32, 1'024});
  line.add("--classes", settings.classes, "of the images", {2, 1'000});
  line.add("--splits", settings.splits, "in how many parts a batch is split");
  settings.saves.add_to(line, "after each batch");
  if (const auto status = line.parse(argc, argv)) return *status;
  for (const std::int64_t splits : settings.splits) {
    if (splits < 1 || settings.batch % splits != 0) {
      throw std::invalid_argument(
          fmt::format("--splits {}: {} images are not so many equal parts", splits, settings.batch));
    }
  }

  const FunctionRegistry functions{{"FirstHalf", first_half}, {"SecondHalf", second_half}};
  const NodeOptions options = NodeOptions::from_environment();
  if (options.world_size == 1) {
    LocalCluster cluster({"master", "worker0", "worker1"}, functions);
    compare(cluster.node("master"), {"worker0", "worker1"}, settings);
    return 0;
  }
  Node node = Node::join(options, functions);
  if (options.role == "master") compare(node, node.role("worker").names(), settings);
  node.serve();
  node.shutdown();
  return 0;
}

int main(int argc, char** argv) { return run_program(run, argc, argv); }

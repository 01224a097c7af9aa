// ResNet-50 on two nodes: each batch is split, so that one half of the network computes with one split while the other
// half computes with the split before. Run alone it has all nodes in one process;
// `troupe up samples/pipeline/cluster.toml` runs it as three.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "actors/dist_autograd.h"
#include "actors/dist_optimizer.h"
#include "actors/pipeline.h"
#include "actors/remote_module.h"
#include "autograd/engine.h"
#include "autograd/ops.h"
#include "autograd/ops/loss.h"
#include "node/local_cluster.h"
#include "optim/local_optimizer.h"
#include "samples/pipeline/resnet.h"
#include "samples/program.h"
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

struct Outcome {
  double seconds = 0;           ///< per batch, the median
  double loss = 0;              ///< of the last batch
  std::vector<Tensor> weights;  ///< after the last step
};

/// Calls `step(batch)`, which returns the loss, for each batch.
template <class Step>
Outcome run_batches(const std::vector<Batch>& batches, const Step& step) {
  Outcome outcome;
  std::vector<double> seconds;
  for (const Batch& batch : batches) {
    const auto begin = std::chrono::steady_clock::now();
    outcome.loss = step(batch);
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(seconds.begin(), seconds.end());
  outcome.seconds = seconds[(seconds.size() - 1) / 2];
  return outcome;
}

Outcome train_on_workers(const Node& master, const std::vector<NodeName>& workers, const Settings& settings,
                         const std::vector<Batch>& batches, std::int64_t splits) {
  const std::vector<PipelineStage> halves{
      RemoteModule(master, workers.at(0), first_half, kFirstSeed),
      RemoteModule(master, workers.at(1), second_half, kSecondSeed, settings.classes)};
  const Pipeline net(master, halves, {.chunks = splits});
  const std::vector<RRef<Variable>> parameters = net.parameters(master);
  const DistOptimizer optimizer(master, kRule, parameters);
  Outcome outcome = run_batches(batches, [&](const Batch& batch) {
    DistContext context(master);
    const Variable loss = mse_loss(net.forward(context, batch.images), batch.labels);
    backward(context, loss);
    optimizer.step(context);
    return loss.item();
  });
  for (const auto& parameter : parameters) outcome.weights.push_back(parameter.to_here(master).value());
  return outcome;
}

/// The same network and splits in this process, without nodes.
Outcome train_here(const Settings& settings, const std::vector<Batch>& batches, std::int64_t splits) {
  FirstHalf first(kFirstSeed);
  SecondHalf second(kSecondSeed, settings.classes);
  std::vector<Variable> parameters = first.parameters();
  for (const Variable& parameter : second.parameters()) parameters.push_back(parameter);
  optim::LocalOptimizer optimizer(parameters, kRule);
  Outcome outcome = run_batches(batches, [&](const Batch& batch) {
    std::vector<Variable> scores;
    for (const Tensor& part : split(batch.images, settings.batch / splits, 0)) {
      scores.push_back(second.forward(first.forward(part)));
    }
    const Variable loss = mse_loss(concat(scores, 0), batch.labels);
    optimizer.step(backward(loss));
    return loss.item();
  });
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
  double worst = 0;
  for (const std::int64_t splits : settings.splits) {
    const Outcome apart = train_on_workers(master, workers, settings, batches, splits);
    const Outcome here = train_here(settings, batches, splits);
    const double off = difference(apart.weights, here.weights);
    worst = std::max(worst, off);
    fmt::print("{:6} {:8.3f} s {:10.3f} s {:7.2f} {:8.4f} {:19.1e} {:21.1e}\n", splits, apart.seconds, here.seconds,
               here.seconds / apart.seconds, apart.loss, difference(apart.weights, before), off);
    std::fflush(stdout);
  }
  fmt::print("weights are those of one process within {:.1e}\n", worst);
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  Settings settings;
  CLI::App app("Trains ResNet-50 in two halves: all nodes in this process, or one each with `troupe up cluster.toml`.");
  app.add_option("--batch", settings.batch, "images of a batch")->check(CLI::Range(1, 4'096))->capture_default_str();
  app.add_option("--batches", settings.batches, "how many, for each number of splits")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  app.add_option("--image", settings.image, "width and height")->check(CLI::Range(32, 1'024))->capture_default_str();
  app.add_option("--splits", settings.splits, "in how many parts a batch is split")
      ->delimiter(',')
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
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

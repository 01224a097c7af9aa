// A trainer: has the digits, calls the network where it lives, and has its parameters stepped there.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "actors/dist_autograd.h"
#include "actors/dist_optimizer.h"
#include "autograd/ops/nn.h"
#include "node/node.h"
#include "samples/parameter_server/glyphs.h"
#include "samples/parameter_server/monitor.h"
#include "samples/parameter_server/served.h"
#include "samples/program.h"
#include "tensor/create.h"
#include "tensor/ops.h"

using namespace troupe;
using namespace samples;

constexpr std::int64_t kBatch = 32;

/// What one trainer does: all shuffle alike, and trainer i of n takes batches i, i + n, i + 2n, ...
struct Share {
  std::int64_t trainer = 0;
  std::int64_t trainers = 1;
  std::int64_t examples = 0;  ///< of an epoch, for all trainers together
  std::int64_t epochs = 1;

  [[nodiscard]] std::int64_t steps_per_epoch() const { return examples / (kBatch * trainers); }
  [[nodiscard]] std::int64_t steps() const { return epochs * steps_per_epoch(); }
};

void train(const Node& node, const RemoteModule<DigitNet>& net, const Digits& digits, const Share& share) {
  const DistOptimizer optimizer(node, optim::SgdOptions{.lr = 0.03}, net.remote_parameters(node));
  Monitor monitor(share.steps(), kBatch);
  std::int64_t accepted = 0;
  for (std::int64_t epoch = 0; epoch < share.epochs; ++epoch) {
    Generator shuffle(static_cast<std::uint64_t>(epoch));
    const Tensor order = permutation(share.examples, shuffle);
    for (std::int64_t step = 0; step < share.steps_per_epoch(); ++step) {
      const auto first = static_cast<std::size_t>((step * share.trainers + share.trainer) * kBatch);
      const Batch next = batch(digits, order.data<std::int64_t>().subspan(first, kBatch));

      DistContext ctx(node);
      const Variable loss = cross_entropy(net.forward(ctx, next.images), next.labels);
      backward(ctx, loss);
      optimizer.step(ctx);

      ++accepted;
      monitor.stepped(loss.item());
    }
  }
  fmt::print("Training complete! {} of {} steps accepted\n", accepted, share.steps());
}

/// How much of `digits` the network reads right, from 0 to 1.
double accuracy(const Node& node, const RemoteModule<DigitNet>& net, const Digits& digits) {
  constexpr std::int64_t kAtOnce = 200;
  double right = 0;
  for (std::int64_t first = 0; first < digits.count(); first += kAtOnce) {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(std::min(kAtOnce, digits.count() - first)));
    std::iota(rows.begin(), rows.end(), first);
    const Batch held_out = batch(digits, rows);
    const Tensor found = net.module_rref().rpc_sync(node, &DigitNet::classify, held_out.images);
    right += sum(found == held_out.labels).item();
  }
  return right / static_cast<double>(digits.count());
}

int run(int argc, char** argv) {
  std::string directory;
  Share share{.epochs = 3};
  CLI::App app("Trains the network of the parameter server; `troupe up cluster.toml` starts it.");
  app.add_option("--data", directory, "where MNIST's four files are; without it digits are drawn");
  app.add_option("--epochs", share.epochs, "passes over the examples")
      ->check(CLI::Range(1, 1'000))
      ->capture_default_str();
  app.add_option("--examples", share.examples, "how many of the training digits; 0 = all")
      ->check(CLI::Range(0, 60'000));
  CLI11_PARSE(app, argc, argv);

  const NodeOptions options = NodeOptions::from_environment();
  // All but the server, whose rank is 0.
  share.trainers = std::max(std::int64_t{options.world_size} - 1, std::int64_t{1});
  share.trainer = std::max(std::int64_t{options.rank.value_or(0)} - 1, std::int64_t{0});
  Node node = Node::join(options, server_functions());
  const DigitData data = directory.empty() ? glyph_data() : read_mnist(directory);
  if (share.examples == 0 || share.examples > data.train.count()) share.examples = data.train.count();
  if (share.steps() == 0) {
    throw std::invalid_argument(
        fmt::format("{} examples make no batch for each of {} trainers", share.examples, share.trainers));
  }

  {
    const RemoteModule net(node.find<DigitNet>(kServer, kNet));  // released before the common end
    train(node, net, data.train, share);
    fmt::print("test accuracy: {:.2f} %\n", 100 * accuracy(node, net, data.test));
    std::cout.flush();
  }
  node.serve();  // until the other trainers have finished, too
  node.shutdown();
  return 0;
}

int main(int argc, char** argv) { return run_program(run, argc, argv); }

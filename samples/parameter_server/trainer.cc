// A trainer: has the digits, calls the network where it lives, and has its parameters stepped there.
#include <fmt/format.h>

#include <iostream>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "actors/checkpoint/checkpoint.h"
#include "actors/dist_autograd.h"
#include "actors/dist_optimizer.h"
#include "autograd/ops/nn.h"
#include "node/node.h"
#include "samples/command_line.h"
#include "samples/parameter_server/glyphs.h"
#include "samples/parameter_server/monitor.h"
#include "samples/parameter_server/served.h"
#include "samples/program.h"
#include "samples/saves.h"
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

/// The epochs that are done, and the network after them, in a directory of the first trainer's machine.
class Saves {
 public:
  /// All trainers have the same options. The rule of the steps has no state.
  Saves(const Node& node, const RemoteModule<DigitNet>& net, SaveOptions options, bool is_first)
      : node_(node), options_(std::move(options)), is_first_(is_first) {
    if (options_.directory.empty()) return;
    parts_.add("net", net).add("epochs", epochs_);
    if (is_first_ && options_.restore(node, parts_)) fmt::print("goes on after epoch {}\n", epochs_);
    // Nobody trains before the network is restored. A trainer that has died is left out.
    for (const auto& [name, epochs] : node.role("trainer").partial().all_gather(node, epochs_).values)
      epochs_ = std::max(epochs_, epochs);
  }

  [[nodiscard]] std::int64_t epochs() const { return epochs_; }

  /// Between steps: all trainers wait for the save.
  void epoch_done() {
    ++epochs_;
    if (options_.directory.empty()) return;
    const Group trainers = node_.role("trainer").partial();
    trainers.barrier(node_);
    if (is_first_) options_.save(node_, parts_);
    trainers.barrier(node_);
  }

 private:
  const Node& node_;
  const SaveOptions options_;
  const bool is_first_;
  std::int64_t epochs_ = 0;
  Checkpoint parts_;
};

void train(const Node& node, const RemoteModule<DigitNet>& net, const Digits& digits, const Share& share,
           Saves& saves) {
  const DistOptimizer optimizer(node, optim::SgdOptions{.lr = 0.03}, net.remote_parameters(node));
  const std::int64_t steps = share.steps() - saves.epochs() * share.steps_per_epoch();
  Monitor monitor(steps, kBatch);
  std::int64_t accepted = 0;
  for (; saves.epochs() < share.epochs; saves.epoch_done()) {
    Generator shuffle(static_cast<std::uint64_t>(saves.epochs()));
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
  fmt::print("Training complete! {} of {} steps accepted\n", accepted, steps);
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
  SaveOptions saved;
  Share share{.epochs = 3};
  CommandLine line("Trains the network of the parameter server; `troupe up cluster.toml` starts it.");
  line.add("--data", directory, "where MNIST's four files are; without it digits are drawn");
  line.add("--epochs", share.epochs, "passes over the examples", {1, 1'000});
  line.add("--examples", share.examples, "how many of the training digits; 0 = all", {0, 60'000});
  saved.add_to(line, "after each epoch, by the first trainer");
  if (const auto status = line.parse(argc, argv)) return *status;

  const NodeOptions options = NodeOptions::from_environment();
  // All but the server, whose rank is 0.
  share.trainers = std::max(std::int64_t{options.world_size} - 1, std::int64_t{1});
  share.trainer = std::max(std::int64_t{options.rank.value_or(0)} - 1, std::int64_t{0});
  if (share.trainer == 0) saved.check();  // before the others count on this one
  Node node = Node::join(options, server_functions());
  const DigitData data = directory.empty() ? glyph_data() : read_mnist(directory);
  if (share.examples == 0 || share.examples > data.train.count()) share.examples = data.train.count();
  if (share.steps() == 0) {
    throw std::invalid_argument(
        fmt::format("{} examples make no batch for each of {} trainers", share.examples, share.trainers));
  }

  {
    const RemoteModule net(node.find<DigitNet>(kServer, kNet));  // released before the common end
    Saves saves(node, net, saved, share.trainer == 0);
    train(node, net, data.train, share, saves);
    fmt::print("test accuracy: {:.2f} %\n", 100 * accuracy(node, net, data.test));
    std::cout.flush();
  }
  node.serve();  // until the other trainers have finished, too
  node.shutdown();
  return 0;
}

int main(int argc, char** argv) { return run_program(run, argc, argv); }

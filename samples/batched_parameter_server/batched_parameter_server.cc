// A parameter server that steps once for all trainers: each sends its gradient and gets the new weights when the last
// of them has sent its own. The call returns one future shared by the round, so the server needs one thread. Run alone
// it has all nodes in one process; `troupe up samples/batched_parameter_server/cluster.toml` runs it as six.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <vector>

#include "actors/checkpoint/checkpoint.h"
#include "actors/collect.h"
#include "actors/rref.h"
#include "autograd/engine.h"
#include "autograd/ops.h"
#include "autograd/ops/nn.h"
#include "node/local_cluster.h"
#include "optim/saved_state.h"
#include "samples/command_line.h"
#include "samples/program.h"
#include "samples/saves.h"
#include "tensor/create.h"
#include "tensor/generator.h"
#include "tensor/io/named_tensors.h"
#include "tensor/ops.h"

using namespace troupe;
using namespace samples;

constexpr std::int64_t kFeatures = 8;
constexpr std::int64_t kTerm = 20;  // updates between two checkpoints

/// The weights that the data was made with: 1, 2, ...
Tensor true_weights() { return reshape(arange(1, kFeatures + 1, 1), {kFeatures, 1}); }

/// What a trainer finds out in a step.
struct Lesson {
  Tensor gradient;
  double loss = 0;
};

/// Fits a line to noiseless data, which trainer and step determine.
Lesson learn(const Tensor& weights, std::uint64_t trainer, std::int64_t step) {
  Generator generator(trainer, static_cast<std::uint64_t>(step));
  const Tensor x = randn({20, kFeatures}, generator);
  const Variable w(weights, RequiresGrad::yes);
  const Variable loss = mse_loss(matmul(Variable(x), w), Variable(matmul(x, true_weights())));
  return {backward(loss).of(w), loss.item()};
}

/// Returns the weights after a step along the mean of all trainers' gradients, which are summed in this order.
Tensor stepped(const Tensor& weights, const std::vector<Tensor>& gradients, double rate) {
  Tensor sum = gradients.front();
  for (std::size_t i = 1; i < gradients.size(); ++i) sum = sum + gradients[i];
  return weights - sum * (rate / static_cast<double>(gradients.size()));
}

class BatchedServer {
 public:
  BatchedServer(std::uint64_t trainers, double rate) : gradients_(trainers), rate_(rate) {}

  [[nodiscard]] Tensor weights() const { return weights_; }
  [[nodiscard]] std::int64_t updates() const { return updates_; }

  /// Completes with the new weights when all trainers have sent their gradients.
  Future<Tensor> update(Scope& scope, std::uint64_t trainer, const Tensor& gradient) {
    gradients_.at(trainer) = gradient;
    if (!round_) round_.emplace(scope);
    const Promise<Tensor> round = *round_;
    if (++arrived_ == gradients_.size()) {
      weights_ = stepped(weights_, gradients_, rate_);
      ++updates_;
      arrived_ = 0;
      round_.reset();
      round.complete(weights_);
    }
    return round.future();
  }

  /// REQUIRES of both: between rounds.
  [[nodiscard]] NamedTensors state_dict() const { return {{"weights", weights_}, {"updates", scalar(updates_)}}; }
  void load_state_dict(const NamedTensors& state) {
    optim::SavedState saved(state, "");
    const Tensor weights = saved.take("weights");
    const auto updates = saved.take_integer("updates");
    saved.finish();
    weights_ = weights;
    updates_ = updates.value();
  }

 private:
  std::vector<Tensor> gradients_;  // by trainer, of those that have arrived in this round
  double rate_;
  Tensor weights_ = zeros({kFeatures, 1});
  std::uint64_t arrived_ = 0;
  std::int64_t updates_ = 0;
  std::optional<Promise<Tensor>> round_;
};

constexpr auto make_server = constructor<BatchedServer, std::uint64_t, double>;

/// Runs on every trainer: the steps from `begin` to before `end`. Returns the last loss.
double train(Scope& scope, const RRef<BatchedServer>& server, std::uint64_t trainer, std::int64_t begin,
             std::int64_t end) {
  Tensor weights = server.rpc_sync(scope, &BatchedServer::weights);
  double last = 0;
  for (std::int64_t step = begin; step < end; ++step) {
    const Lesson lesson = learn(weights, trainer, step);
    weights = server.rpc_sync(scope, &BatchedServer::update, trainer, lesson.gradient);
    last = lesson.loss;
  }
  return last;
}

struct Settings {
  std::size_t trainers = 5;
  std::int64_t updates = 100;
  double rate = 0.1;
  bool check = false;  ///< compare with the same training without nodes
  SaveOptions saves;
};

/// The same training in this process, without nodes. Returns the weights.
Tensor train_here(const Settings& settings) {
  Tensor weights = zeros({kFeatures, 1});
  for (std::int64_t step = 0; step < settings.updates; ++step) {
    std::vector<Tensor> gradients;
    for (std::size_t i = 0; i < settings.trainers; ++i) gradients.push_back(learn(weights, i, step).gradient);
    weights = stepped(weights, gradients, settings.rate);
  }
  return weights;
}

/// Runs on the server's node. Trainers stop where it saves, so that a checkpoint is between two rounds.
void lead(const Node& ps, const std::vector<NodeName>& trainers, const Settings& settings) {
  const Scope whole_run = ps.with({.deadline = Deadline::while_peer_lives()});
  const RRef<BatchedServer> server = ps.remote(ps.name(), make_server, trainers.size(), settings.rate);
  double loss = 0;  // the largest of the trainers' last
  SavedNumbers numbers;
  numbers.add("loss", loss).add_setting("the number of trainers", std::ssize(trainers));
  Checkpoint checkpoint;
  checkpoint.add("server", *server.local_value(ps)).add("numbers", numbers);  // lives as long as the reference
  const auto updates = [&] { return server.local_value(ps)->updates(); };
  if (settings.saves.restore(ps, checkpoint)) fmt::print("goes on after update {}\n", updates());

  const bool has_terms = !settings.saves.directory.empty();
  while (updates() < settings.updates) {
    const std::int64_t begin = updates();
    const std::int64_t end = has_terms ? std::min(begin + kTerm, settings.updates) : settings.updates;
    std::vector<Future<double>> losses;
    for (const NodeName& trainer : trainers)
      losses.push_back(whole_run.rpc_async(trainer, &train, server, losses.size(), begin, end));
    loss = std::ranges::max(wait_all(losses));
    if (!has_terms) continue;
    settings.saves.save(ps, checkpoint);
    fmt::print("saved after update {}: loss at most {:.2e}\n", updates(), loss);
    std::fflush(stdout);
  }
  const Tensor weights = server.local_value(ps)->weights();
  fmt::print("{} trainers, {} updates\n", trainers.size(), updates());
  fmt::print("last loss at most {:.2e}; weights off by at most {:.2e}\n", loss,
             max(abs(weights - true_weights())).item());
  if (settings.check)
    fmt::print("weights are those of one process within {:.1e}\n", max(abs(weights - train_here(settings))).item());
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  Settings settings;
  CommandLine line(
      "One update for all trainers: all nodes in this process, or one each with `troupe up cluster.toml`.");
  line.add("--updates", settings.updates, "how many", {1, 10'000'000});
  line.add_positive("--rate", settings.rate, "of a step");
  line.add("--trainers", settings.trainers, "when run alone", {1, 64});
  line.add_flag("--check", settings.check, "compare the weights with those of one process");
  settings.saves.add_to(line, fmt::format("after every {} updates", kTerm));
  if (const auto status = line.parse(argc, argv)) return *status;

  const FunctionRegistry functions{{"BatchedServer", make_server},
                                   {"weights", &BatchedServer::weights},
                                   {"update", &BatchedServer::update},
                                   {"train", &train}};
  const NodeOptions options = NodeOptions::from_environment();
  if (options.world_size == 1) {
    std::vector<NodeName> names{"ps"};
    for (std::size_t i = 0; i < settings.trainers; ++i) names.push_back(fmt::format("trainer{}", i));
    LocalCluster cluster(names, functions, {.pool = {.threads = 1}});
    lead(cluster.node("ps"), {names.begin() + 1, names.end()}, settings);
    return 0;
  }
  Node node = Node::join(options, functions);
  if (options.role == "ps") {
    const std::vector<NodeName> trainers = node.role("trainer").names();
    settings.trainers = trainers.size();
    lead(node, trainers, settings);
  }
  node.serve();
  node.shutdown();
  return 0;
}

int main(int argc, char** argv) { return run_program(run, argc, argv); }

// A parameter server that steps once for all trainers: each sends its gradients and gets the new parameters when the
// last of them has sent its own. The call returns one future shared by the round, so the server needs one thread.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <vector>

#include "actors/collect.h"
#include "actors/rref.h"
#include "autograd/engine.h"
#include "autograd/ops.h"
#include "autograd/ops/nn.h"
#include "node/local_cluster.h"
#include "samples/program.h"
#include "tensor/create.h"
#include "tensor/generator.h"
#include "tensor/ops.h"

using namespace troupe;

constexpr std::int64_t kTrainers = 5;
constexpr std::int64_t kFeatures = 8;
constexpr double kRate = 0.1;

class BatchedServer {
 public:
  explicit BatchedServer(std::int64_t trainers) : trainers_(trainers), weights_(zeros({kFeatures, 1})) {}

  [[nodiscard]] Tensor weights() const { return weights_; }
  [[nodiscard]] std::int64_t updates() const { return updates_; }

  /// Completes with the new weights when all trainers have sent their gradients.
  Future<Tensor> update(Scope& scope, const Tensor& gradient) {
    if (!round_) round_.emplace(scope);
    sum_ = sum_.defined() ? sum_ + gradient : gradient;
    const Promise<Tensor> round = *round_;
    if (++arrived_ == trainers_) {
      weights_ = weights_ - sum_ * (kRate / static_cast<double>(trainers_));
      ++updates_;
      arrived_ = 0;
      sum_ = {};
      round_.reset();
      round.complete(weights_);
    }
    return round.future();
  }

 private:
  std::int64_t trainers_;
  Tensor weights_;
  Tensor sum_;
  std::int64_t arrived_ = 0;
  std::int64_t updates_ = 0;
  std::optional<Promise<Tensor>> round_;
};

/// The weights that the data was made with: 1, 2, ...
Tensor true_weights() { return reshape(arange(1, kFeatures + 1, 1), {kFeatures, 1}); }

/// Fits a line to noiseless data of this trainer's own; returns its last loss.
double train(Scope& scope, const RRef<BatchedServer>& server, std::int64_t seed, std::int64_t steps) {
  Generator generator(static_cast<std::uint64_t>(seed));
  Tensor weights = server.rpc_sync(scope, &BatchedServer::weights);
  double last = 0;
  for (std::int64_t step = 0; step < steps; ++step) {
    const Tensor x = randn({20, kFeatures}, generator);
    const Variable w(weights, RequiresGrad::yes);
    const Variable loss = mse_loss(matmul(Variable(x), w), Variable(matmul(x, true_weights())));
    weights = server.rpc_sync(scope, &BatchedServer::update, backward(loss).of(w));
    last = loss.item();
  }
  return last;
}

int run(int argc, char** argv) {
  const std::int64_t steps = argc > 1 ? std::atoll(argv[1]) : 100;
  const FunctionRegistry functions{{"BatchedServer", constructor<BatchedServer, std::int64_t>},
                                   {"weights", &BatchedServer::weights},
                                   {"updates", &BatchedServer::updates},
                                   {"update", &BatchedServer::update},
                                   {"train", &train}};
  std::vector<NodeName> names{"ps"};
  for (std::int64_t i = 0; i < kTrainers; ++i) names.push_back(fmt::format("trainer{}", i));
  LocalCluster cluster(names, functions, {.pool = {.threads = 1}});
  const Node& ps = cluster.node("ps");

  const auto server = ps.remote("ps", constructor<BatchedServer, std::int64_t>, kTrainers);
  std::vector<Future<double>> losses;
  for (std::int64_t i = 0; i < kTrainers; ++i)
    losses.push_back(ps.rpc_async(names[static_cast<std::size_t>(i) + 1], &train, server, i, steps));
  double worst = 0;
  for (const double loss : wait_all(losses)) worst = std::max(worst, loss);

  const double error = max(abs(server.rpc_sync(ps, &BatchedServer::weights) - true_weights())).item();
  fmt::print("{} trainers, {} updates of {} steps each\n", kTrainers, server.rpc_sync(ps, &BatchedServer::updates),
             steps);
  fmt::print("last loss at most {:.2e}; weights off by at most {:.2e}\n", worst, error);
  return error < 0.01 ? 0 : 1;
}

int main(int argc, char** argv) { return samples::run_program(run, argc, argv); }

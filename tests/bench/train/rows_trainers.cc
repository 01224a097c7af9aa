// Rows in which a master has two trainers train at the same time: beside a parameter server that has the whole network,
// and beside one that has a table only.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "actors/data_parallel.h"
#include "actors/dist_autograd.h"
#include "actors/dist_optimizer.h"
#include "actors/remote_module.h"
#include "autograd/engine.h"
#include "autograd/nn/embedding.h"
#include "autograd/nn/linear.h"
#include "autograd/ops.h"
#include "autograd/ops/nn.h"
#include "node/gloo_collective.h"
#include "optim/local_optimizer.h"
#include "tensor/create.h"
#include "tests/bench/tensor/models.h"
#include "tests/bench/train/row.h"

namespace troupe::bench {
namespace {

constexpr std::size_t kTrainers = 2;
constexpr std::array<const char*, kTrainers> kNames{"trainer0", "trainer1"};
constexpr std::chrono::minutes kTrainingMax{5};

/// Calls `train(scope, model, iterations)` on all trainers at once. Returns the time of the slowest.
template <class F, class M>
double slowest(const Node& master, const F& train, const RemoteModule<M>& model, std::int64_t iterations) {
  const Scope scope = master.with({.deadline = kTrainingMax});
  std::vector<Future<double>> running;
  for (const char* trainer : kNames) running.push_back(scope.rpc_async(trainer, train, model, iterations));
  double seconds = 0;
  for (const auto& one : running) seconds = std::max(seconds, one.get());
  return seconds;
}

std::vector<NodeName> nodes() { return {"master", "ps", kNames[0], kNames[1]}; }

// The digits of the MNIST parameter server.

constexpr auto digit_net = module_class<MnistNet, Generator>;
constexpr optim::SgdOptions kDigitRule{.lr = 0.03};

struct Digits {
  Variable images;
  Tensor labels;

  Digits() {
    Generator generator(2);
    images = randn({32, 1, 28, 28}, generator);
    labels = randint(0, 10, {32}, generator);
  }
};

double train_digits(Scope& scope, const RemoteModule<MnistNet>& net, std::int64_t iterations) {
  const DistOptimizer optimizer(scope, kDigitRule, net.remote_parameters(scope));
  const Digits digits;
  return seconds_of_times(iterations, [&] {
    const DistContext context(scope);
    backward(context, cross_entropy(net.forward(context, digits.images), digits.labels));
    optimizer.step(context);
  });
}

/// The same with one trainer, which is the driver.
Train digits_beside_server(const Node& trainer) {
  const RemoteModule net(trainer, "ps", digit_net, Generator(1));
  const DistOptimizer optimizer(trainer, kDigitRule, net.remote_parameters(trainer));
  return [&trainer, net, optimizer, digits = Digits()](std::int64_t iterations) {
    return seconds_of_times(iterations, [&] {
      const DistContext context(trainer);
      backward(context, cross_entropy(net.forward(context, digits.images), digits.labels));
      optimizer.step(context);
    });
  };
}

Train digits_alone(std::size_t trainers) {
  Generator generator(1);
  const auto net = std::make_shared<MnistNet>(generator);
  const auto optimizer = std::make_shared<optim::LocalOptimizer>(net->parameters(), kDigitRule);
  return [net, optimizer, trainers, digits = Digits()](std::int64_t iterations) {
    return seconds_of_times(iterations, [&] {
      for (std::size_t i = 0; i < trainers; ++i) {
        const Variable loss = cross_entropy(net->forward(digits.images), digits.labels);
        optimizer->step(backward(loss, {.graph = Graph::release}));
      }
    });
  };
}

// Bags of words: their vectors on the server, a replica of the layer above them on every trainer.

constexpr std::int64_t kWords = 100;
constexpr std::int64_t kWidth = 16;
constexpr std::int64_t kClasses = 8;
constexpr optim::SgdOptions kBagRule{.lr = 0.05};
constexpr auto bag_table = module_class<nn::EmbeddingBag, std::int64_t, std::int64_t, Generator>;

/// 20 to 47 words in bags of four.
struct Bags {
  Tensor words;
  Tensor offsets;
  Tensor labels;
};

std::vector<Bags> draw_bags() {
  Generator generator(2);
  std::vector<Bags> batches;
  for (std::int64_t i = 0; i < 10; ++i) {
    const std::int64_t words = 20 + 3 * i;
    const std::int64_t bags = (words + 3) / 4;
    batches.push_back({randint(0, kWords, {words}, generator), arange(0.0, static_cast<double>(words), 4.0, DType::i64),
                       randint(0, kClasses, {bags}, generator)});
  }
  return batches;
}

double train_bags(Scope& scope, const RemoteModule<nn::EmbeddingBag>& table, std::int64_t iterations) {
  const auto members = gloo_collective(scope, Group({kNames[0], kNames[1]}));
  Generator generator(1);
  const DataParallel dense(scope, members, std::make_shared<nn::Linear>(kWidth, kClasses, generator));
  std::vector<RRef<Variable>> parameters = table.remote_parameters(scope);
  for (auto& parameter : parameters_of(scope, dense.module())) parameters.push_back(std::move(parameter));
  const DistOptimizer optimizer(scope, kBagRule, parameters, StepMode::hogwild);
  const std::vector<Bags> batches = draw_bags();
  std::size_t next = 0;
  return seconds_of_times(iterations, [&] {
    const Bags& bags = batches[next++ % batches.size()];
    const DistContext context(scope);
    const Variable vectors = table.forward(context, bags.words, bags.offsets, Variable());
    backward(context, cross_entropy(dense.forward(context, vectors), bags.labels));
    optimizer.step(context);
  });
}

Train bags_alone() {
  struct Model {
    Generator generator{1};
    nn::EmbeddingBag table{kWords, kWidth, generator};
    nn::Linear dense{kWidth, kClasses, generator};
    optim::LocalOptimizer optimizer{parameters(), kBagRule};
    std::vector<Bags> batches = draw_bags();
    std::size_t next = 0;

    [[nodiscard]] std::vector<Variable> parameters() const {
      std::vector<Variable> all = table.parameters();
      for (const Variable& parameter : dense.parameters()) all.push_back(parameter);
      return all;
    }
  };
  return [model = std::make_shared<Model>()](std::int64_t iterations) {
    return seconds_of_times(iterations, [&] {
      const Bags& bags = model->batches[model->next++ % model->batches.size()];
      Variable loss = scalar(0.0F);
      for (std::size_t i = 0; i < kTrainers; ++i) {
        loss = loss + cross_entropy(model->dense.forward(model->table.forward(bags.words, bags.offsets)), bags.labels);
      }
      model->optimizer.step(backward(loss, {.graph = Graph::release}));
    });
  };
}

}  // namespace

TrainRow parameter_server_row() {
  return {"parameter_server", nodes(),
          [](const Node& master) -> Train {
            const RemoteModule net(master, "ps", digit_net, Generator(1));
            return [&master, net](std::int64_t n) { return slowest(master, &train_digits, net, n); };
          },
          [] { return digits_alone(kTrainers); }};
}

TrainRow mnist_row() {
  return {"mnist", {"trainer", "ps"}, digits_beside_server, [] { return digits_alone(1); }};
}

TrainRow hybrid_row() {
  return {"hybrid", nodes(),
          [](const Node& master) -> Train {
            const RemoteModule table(master, "ps", bag_table, kWords, kWidth, Generator(1));
            return [&master, table](std::int64_t n) { return slowest(master, &train_bags, table, n); };
          },
          bags_alone};
}

FunctionRegistry with_trainers(const FunctionRegistry& functions) {
  return functions.with({{"MnistNet", digit_net},
                         {"EmbeddingBag", bag_table},
                         {"train_digits", &train_digits},
                         {"train_bags", &train_bags}});
}

}  // namespace troupe::bench

#include "samples/recommender/training.h"

#include <utility>

#include "actors/data/data_loader.h"
#include "actors/data/distributed_sampler.h"
#include "actors/dist_autograd.h"
#include "actors/future.h"
#include "autograd/engine.h"
#include "autograd/ops.h"
#include "autograd/ops/embedding.h"
#include "autograd/ops/loss.h"
#include "optim/local_optimizer.h"
#include "tensor/create.h"
#include "tensor/ops.h"

namespace samples {

using namespace troupe;

namespace {

constexpr std::int64_t kWidth = 8;
constexpr std::int64_t kBatch = 200;
constexpr optim::AdagradOptions kRule{.lr = 0.2};  // a step of a row reads and writes this row and its sum only

EmbeddingTable table_of(std::int64_t rows, std::int64_t seed) {
  return {.rows = rows, .width = kWidth, .seed = static_cast<std::uint64_t>(seed), .deviation = 0.3};
}

/// One parameter for each server that has rows of a table, those of the users first.
std::vector<RRef<Variable>> parameters_of_both(const Scope& scope, const ShardedEmbedding& users,
                                               const ShardedEmbedding& items) {
  std::vector<RRef<Variable>> parameters = users.parameters(scope);
  for (auto& parameter : items.parameters(scope)) parameters.push_back(std::move(parameter));
  return parameters;
}

Clicks training_clicks(std::int64_t seed, std::int64_t examples) {
  Generator generator(static_cast<std::uint64_t>(seed), 1);
  return ClickModel(kUsers, kItems, static_cast<std::uint64_t>(seed)).draw(examples, generator);
}

Variable loss_of(const Variable& users, const Variable& items, const Tensor& clicked) {
  return bce_with_logits(sum(users * items, 1), clicked);
}

/// What a trainer does in an epoch.
struct Share {
  std::int64_t seed = 0;
  std::int64_t examples = 0;
  std::int64_t epoch = 0;
  std::int64_t ranks = 1;
  std::int64_t rank = 0;
};

/// Runs on every trainer: its share of one epoch. Returns the mean loss.
double train_share(Scope& scope, const ShardedEmbedding& users, const ShardedEmbedding& items,
                   const SharedOptimizer& shared, const Share& share) {
  const Clicks clicks = training_clicks(share.seed, share.examples);
  const DistOptimizer optimizer(scope, shared);
  const SamplerOptions share_of_rank{
      .examples = clicks.count(), .ranks = share.ranks, .rank = share.rank, .remainder = Remainder::drop};
  DataLoader<Clicks> loader(scope, DistributedSampler(share_of_rank), {.batch = kBatch, .remainder = Remainder::drop},
                            [&](const Tensor& examples) { return clicks.at(examples); });
  loader.set_epoch(share.epoch);
  double sum = 0;
  std::int64_t batches = 0;
  for (; const std::optional<Clicks> batch = loader.next(); ++batches) {
    const DistContext context(scope);
    PendingRows of_users = users.prefetch(context, batch->users);  // both tables at once
    PendingRows of_items = items.prefetch(context, batch->items);
    const Variable user_rows = of_users.get();
    const Variable loss = loss_of(user_rows, of_items.get(), batch->clicked);
    backward(context, loss);
    optimizer.step(context);
    sum += loss.item();
  }
  return sum / static_cast<double>(batches);
}

}  // namespace

FunctionRegistry recommender_functions() { return {{"train_share", &train_share}}; }

Recommender::Recommender(const Scope& master, RecommenderSettings settings)
    : master_(master),
      settings_(std::move(settings)),
      users_(master, settings_.servers, table_of(kUsers, 2 * settings_.seed)),
      items_(master, settings_.servers, table_of(kItems, 2 * settings_.seed + 1)),
      optimizer_(master, kRule, parameters_of_both(master, users_, items_),
                 {StepMode::bounded_staleness, settings_.staleness}) {}

void Recommender::add_to(Checkpoint& checkpoint) {
  checkpoint.add("users", users_).add("items", items_).add("epoch", epoch_);
  checkpoint.add("optimizer", optimizer_,
                 {{.name = "users", .table = users_, .first = 0},
                  {.name = "items", .table = items_, .first = users_.shards().size()}});
}

double Recommender::train_epoch() {
  const Scope whole_epoch = master_.with({.deadline = Deadline::while_peer_lives()});
  const SharedOptimizer shared = optimizer_.share();
  Share share{settings_.seed, settings_.examples, epoch_, std::ssize(settings_.trainers)};
  std::vector<Future<double>> running;
  for (const NodeName& trainer : settings_.trainers) {
    running.push_back(whole_epoch.rpc_async(trainer, &train_share, users_, items_, shared, share));
    ++share.rank;
  }
  double loss = 0;
  for (const auto& trainer : running) loss += trainer.get() / static_cast<double>(share.ranks);
  ++epoch_;
  return loss;
}

double Recommender::area_under_curve_of(const Clicks& clicks) const {
  const Tensor scores = sum(users_.pull_rows(master_, clicks.users) * items_.pull_rows(master_, clicks.items), 1);
  return area_under_curve(scores, clicks.clicked);
}

std::vector<Tensor> Recommender::rows() const {
  return {users_.pull_rows(master_, arange(kUsers)), items_.pull_rows(master_, arange(kItems))};
}

std::vector<Tensor> train_here(const RecommenderSettings& settings, std::int64_t epochs,
                               const std::vector<Tensor>& first_rows) {
  const Clicks clicks = training_clicks(settings.seed, settings.examples);
  const Variable users(first_rows[0].clone(), RequiresGrad::yes);
  const Variable items(first_rows[1].clone(), RequiresGrad::yes);
  optim::LocalOptimizer optimizer(std::vector{users, items}, kRule);
  DistributedSampler sampler({.examples = clicks.count(), .remainder = Remainder::drop});
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    for (sampler.set_epoch(epoch); sampler.remaining() >= kBatch;) {
      const Clicks batch = clicks.at(sampler.next(kBatch));
      optimizer.step(backward(loss_of(embedding(users, batch.users), embedding(items, batch.items), batch.clicked)));
    }
  }
  return {users.value(), items.value()};
}

}  // namespace samples

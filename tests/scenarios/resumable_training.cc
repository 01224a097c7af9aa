#include "tests/scenarios/resumable_training.h"

#include <optional>

#include "actors/dist_autograd.h"
#include "autograd/ops.h"
#include "tensor/create.h"

namespace troupe::testing {
namespace {

constexpr std::int64_t kExamples = 23;
constexpr std::int64_t kBatch = 4;
constexpr std::int64_t kWidth = 5;
constexpr EmbeddingTable kTable{.rows = 31, .width = kWidth, .seed = 11};
constexpr auto tower = module_class<DropoutTower, std::int64_t, std::int64_t, std::int64_t>;

/// The parameters of all parts: those of the table stand after those of the first tower.
std::vector<RRef<Variable>> parameters(const Scope& driver, const RemoteModule<DropoutTower>& first,
                                       const ShardedEmbedding& table, const RemoteModule<DropoutTower>& last) {
  std::vector<RRef<Variable>> all = first.remote_parameters(driver);
  for (auto& parameter : table.parameters(driver)) all.push_back(std::move(parameter));
  for (auto& parameter : last.remote_parameters(driver)) all.push_back(std::move(parameter));
  return all;
}

constexpr optim::AdagradOptions kRule{.lr = 0.05};  // a rule with a state

/// FNV-1a.
void mix(std::uint64_t& hash, const Tensor& tensor) {
  const Tensor here = tensor.contiguous();
  for (const std::byte byte : std::span(here.bytes(), here.nbytes()))
    hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 1099511628211ULL;
}

}  // namespace

DropoutTower::DropoutTower(std::int64_t inputs, std::int64_t outputs, std::int64_t seed) {
  Generator generator(static_cast<std::uint64_t>(seed));
  linear_ = add_module("linear", std::make_shared<nn::Linear>(inputs, outputs, generator));
  norm_ = add_module("norm", std::make_shared<nn::BatchNorm1d>(outputs));
  dropout_ = add_module("dropout", std::make_shared<nn::Dropout>(0.25, generator));
}

Variable DropoutTower::forward(const Variable& x) { return dropout_->forward(norm_->forward(linear_->forward(x))); }

FunctionRegistry resumable_training_functions() { return {{"tower", tower}}; }

ResumableTraining::ResumableTraining(const Scope& driver, const std::vector<NodeName>& nodes)
    : driver_(driver),
      table_(driver, nodes, kTable),
      first_(driver, nodes.front(), tower, kWidth, std::int64_t{6}, std::int64_t{1}),
      last_(driver, nodes.back(), tower, std::int64_t{6}, std::int64_t{3}, std::int64_t{2}),
      optimizer_(driver, kRule, parameters(driver, first_, table_, last_)),
      scheduler_(optimizer_, optim::StepLr({.step_size = 7, .gamma = 0.5})),
      batches_(driver, DistributedSampler({.examples = kExamples, .seed = 3}),
               {.batch = kBatch, .remainder = Remainder::drop, .ahead = 3},
               [](const Tensor& examples) { return examples; }),
      noise_(4) {
  parts_.add("table", table_)
      .add("first", first_)
      .add("last", last_)
      .add("batches", batches_)
      .add("noise", noise_)
      .add("steps", steps_)
      .add("optimizer", optimizer_,
           {{.name = "table", .table = table_, .first = first_.remote_parameters(driver).size()}})
      .add("scheduler", scheduler_);
}

void ResumableTraining::train(int steps) {
  for (int i = 0; i < steps; ++i) step();
}

void ResumableTraining::step() {
  std::optional<Tensor> rows = batches_.next();
  if (!rows) {
    batches_.set_epoch(batches_.epoch() + 1);
    rows = batches_.next();
  }
  const Tensor offsets = uniform({kBatch, kWidth}, -0.1, 0.1, noise_);
  const DistContext context(driver_);
  const Variable x = table_.lookup(context, rows.value()) + offsets;
  const Variable y = last_.forward(context, tanh(first_.forward(context, x)));
  backward(context, mean(square(y - 1.0)));
  optimizer_.step(context);
  scheduler_.step();
  ++steps_;
}

std::uint64_t ResumableTraining::hash() const {
  std::uint64_t hash = 14695981039346656037ULL;
  mix(hash, table_.pull_rows(driver_, arange(kTable.rows)));
  const auto mix_module = [&](const RemoteModule<DropoutTower>& module, std::int64_t inputs) {
    for (const auto& parameter : module.remote_parameters(driver_)) mix(hash, parameter.to_here(driver_).value());
    mix(hash, module.forward(driver_, ones({kBatch, inputs})).value());
  };
  mix_module(first_, kWidth);
  mix_module(last_, 6);
  return hash;
}

}  // namespace troupe::testing

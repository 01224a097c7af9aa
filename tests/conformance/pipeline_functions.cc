#include "tests/conformance/pipeline_functions.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "actors/dist_autograd.h"
#include "autograd/checkpoint.h"
#include "autograd/custom_op.h"
#include "autograd/ops.h"
#include "autograd/ops/inplace.h"
#include "autograd/ops/loss.h"
#include "node/gloo_collective.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/support/hold.h"

namespace troupe::testing {

DenseStage::DenseStage(std::int64_t inputs, std::int64_t outputs, bool norm, double drops, std::uint64_t seed) {
  Generator generator(seed);
  linear_ = add_module("linear", std::make_shared<nn::Linear>(inputs, outputs, generator));
  if (norm) norm_ = add_module("norm", std::make_shared<nn::BatchNorm1d>(outputs));
  dropout_ = add_module("dropout", std::make_shared<nn::Dropout>(drops, generator));
}

Variable DenseStage::forward(const Variable& x) {
  if (recomputing()) ++replays_;
  if (!recomputing()) ++forwards_;
  if (grad_enabled()) most_live_ = std::max<std::int64_t>(most_live_, ++*live_);
  const Variable y = linear_->forward(x);
  const Variable z = dropout_->forward(tanh(norm_ ? norm_->forward(y) : y));
  return custom_op("live", z.value(), {z}, [live = live_](const Tensor& gradient) {
    --*live;
    return gradient;
  });
}

FaultyStage::FaultyStage(std::int64_t width, Fault fault, std::int64_t at)
    : fault_(fault), at_(at), weight_(add_parameter("weight", full({width}, 0.5))) {}

Variable FaultyStage::forward(Scope& scope, const Variable& x) {
  const Fault fault = next_++ == at_ ? fault_ : Fault::none;
  switch (fault) {
    case Fault::none: break;
    case Fault::throws: throw std::runtime_error("boom");
    case Fault::throws_backward: {
      const Variable y = x * weight_;
      return custom_op("bomb", y.value(), {y}, [](const Tensor&) -> Tensor { throw std::runtime_error("boom"); });
    }
    case Fault::holds: hold(scope); throw std::runtime_error("stopped");
    case Fault::writes: mul_(x, 2.0); break;
    case Fault::writes_saved: {
      const Variable y = x * weight_;
      mul_(x.detach(), 2.0);
      return y;
    }
    case Fault::gives_no_gradient: return x.detach();
    case Fault::gives_matrix: return unsqueeze(x * weight_, 0);
  }
  return x * weight_;
}

ForkStage::ForkStage(std::int64_t width) : weight_(add_parameter("weight", full({width}, 0.75))) {}

std::tuple<Variable, Variable> ForkStage::forward(const Variable& x) { return {tanh(x * weight_), x * 2.0}; }

MergeStage::MergeStage(std::int64_t width) : weight_(add_parameter("weight", full({width}, 1.25))) {}

Variable MergeStage::forward(const Variable& x, const Variable& skipped) { return x * weight_ + skipped; }

std::tuple<Variable, bool, std::int64_t, std::optional<Variable>, std::string, Variable> ManyGiver::forward(
    std::int64_t a, const Variable& b, bool c, const std::optional<Variable>& d) {
  Variable result = c ? b + static_cast<double>(a) : b * static_cast<double>(a);
  if (d) result = result + *d;
  return {result, c, a, d, "hello", Variable()};
}

std::tuple<Variable, Tensor, std::string, Variable> ManyTaker::forward(const Variable& a, bool b, std::int64_t c,
                                                                       const std::optional<Variable>& d,
                                                                       const std::string& e, const Variable& f) {
  if (f.defined()) throw std::invalid_argument("f is defined");
  Variable result = b ? a * static_cast<double>(c) : a - static_cast<double>(c);
  if (d) result = result * *d;
  return {result, a.value(), e + " again", Variable()};
}

HalfUsed::HalfUsed(std::int64_t inputs, std::int64_t outputs, std::uint64_t seed) {
  Generator generator(seed);
  used_ = add_module("used", std::make_shared<nn::Linear>(inputs, outputs, generator));
  unused_ = add_module("unused", std::make_shared<nn::Linear>(2, 2, generator));
}

Variable HalfUsed::forward(const Variable& x) { return tanh(used_->forward(x)); }

LayerShare::LayerShare(std::int64_t first, std::int64_t count) {
  constexpr std::array<std::int64_t, kLayers + 1> kWidths{5, 40, 4, 4, 4, 3};
  layers_ = add_module("layers", std::make_shared<nn::Sequential>());
  for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(first + count); ++i) {
    Generator generator(i);
    layers_->append(std::make_shared<nn::Linear>(kWidths.at(i), kWidths.at(i + 1), generator));
  }
}

namespace {

/// Counts the sums of a collective.
class CountingCollective final : public Collective {
 public:
  CountingCollective(std::shared_ptr<Collective> inner, std::shared_ptr<std::atomic<std::int64_t>> sums)
      : inner_(std::move(inner)), sums_(std::move(sums)) {}

  const std::vector<NodeName>& names() const override { return inner_->names(); }
  std::size_t rank() const override { return inner_->rank(); }
  Tensor all_reduce(const Scope& scope, const Tensor& value, ReduceOp op) override {
    ++*sums_;
    return inner_->all_reduce(scope, value, op);
  }
  Future<Tensor> all_reduce_async(const Scope& scope, const Tensor& value, ReduceOp op) override {
    ++*sums_;
    return inner_->all_reduce_async(scope, value, op);
  }
  Tensor reduce(const Scope& scope, const NodeName& to, const Tensor& value, ReduceOp op) override {
    return inner_->reduce(scope, to, value, op);
  }
  Tensor broadcast(const Scope& scope, const NodeName& from, const Tensor& value) override {
    return inner_->broadcast(scope, from, value);
  }
  std::vector<Tensor> all_gather(const Scope& scope, const Tensor& value) override {
    return inner_->all_gather(scope, value);
  }
  Future<Tensor> reduce_async(const Scope& scope, const NodeName& to, const Tensor& value, ReduceOp op) override {
    return inner_->reduce_async(scope, to, value, op);
  }
  Future<Tensor> broadcast_async(const Scope& scope, const NodeName& from, const Tensor& value) override {
    return inner_->broadcast_async(scope, from, value);
  }
  Future<std::vector<Tensor>> all_gather_async(const Scope& scope, const Tensor& value) override {
    return inner_->all_gather_async(scope, value);
  }
  void barrier(const Scope& scope) override { inner_->barrier(scope); }
  void fail(const std::string& why) override { inner_->fail(why); }

 private:
  const std::shared_ptr<Collective> inner_;
  const std::shared_ptr<std::atomic<std::int64_t>> sums_;
};

Pipeline<> replica_pipeline(const Scope& scope, const std::vector<RRef<ReplicaStage>>& stages, Schedule schedule,
                            Recompute recompute = Recompute::never) {
  std::vector<PipelineStage> parts;
  for (const RRef<ReplicaStage>& stage : stages) parts.emplace_back(RemoteModule(stage));
  return {scope, std::move(parts), {.chunks = 3, .recompute = recompute, .schedule = schedule}};
}

}  // namespace

ReplicaStage::ReplicaStage(std::int64_t inputs, std::int64_t outputs, std::uint64_t seed)
    : net_(add_module("net", std::make_shared<HalfUsed>(inputs, outputs, seed))) {}

ReplicaStage::ReplicaStage(const Scope& scope, const std::vector<NodeName>& members, std::int64_t inputs,
                           std::int64_t outputs, std::uint64_t seed)
    : ReplicaStage(inputs, outputs, seed) {
  replica_.emplace(scope, std::make_shared<CountingCollective>(gloo_collective(scope, Group(members)), sums_), net_);
}

Variable ReplicaStage::forward(const Variable& x) { return net_->forward(x); }

void ReplicaStage::synchronize(const Scope& scope) {
  if (replica_) replica_->synchronize(scope);
}

ReplicaStage make_replica_stage(Scope& scope, const std::vector<NodeName>& members, std::int64_t inputs,
                                std::int64_t outputs, std::uint64_t seed) {
  return members.empty() ? ReplicaStage(inputs, outputs, seed) : ReplicaStage(scope, members, inputs, outputs, seed);
}

std::vector<Tensor> replica_step(Scope& scope, const std::vector<RRef<ReplicaStage>>& stages, const ReplicaStep& step) {
  const Pipeline<> net = replica_pipeline(scope, stages, step.schedule, step.recompute);
  const DistContext ctx(scope);
  if (step.fails_first) {
    try {
      static_cast<void>(net.loss(ctx, step.x, &constant_loss));
    } catch (const RemoteError& error) {
      static_cast<void>(error);  // as it should
    }
  }
  backward(ctx,
           step.by_loss ? net.loss(ctx, step.x, &squared_error, step.y) : mse_loss(net.forward(ctx, step.x), step.y));
  std::vector<Tensor> gradients;
  for (const RRef<Variable>& parameter : net.parameters(scope)) {
    const Tensor gradient = ctx.grad(parameter);
    gradients.push_back(gradient.defined() ? gradient : zeros({0}));
  }
  return gradients;
}

std::string replica_steps_until_failure(Scope& scope, const std::vector<RRef<ReplicaStage>>& stages, const Tensor& x) {
  try {
    const Pipeline<> net = replica_pipeline(scope, stages, Schedule::one_f_one_b);
    while (true) {
      const DistContext ctx(scope);
      backward(ctx, net.loss(ctx, x, &sum_of_result));
    }
  } catch (const RemoteError& error) {
    return error.error().text();
  }
}

Variable squared_error(const Variable& result, const Tensor& target) { return mse_loss(result, target); }
Variable sum_of_squares(const Variable& result, const Tensor& target) {
  const Variable apart = result - target;
  return sum(apart * apart);
}
Variable sum_of_result(const Variable& result) { return sum(result); }
Variable rows_of_result(const Variable& result) { return sum(result, {1}); }
Variable constant_loss(const Variable& result) { return sum(result.detach()); }

Tensor buffer_of(Scope& scope, const RRef<DenseStage>& stage, const std::string& name) {
  const auto module = stage.local_value(scope);
  for (const auto& [path, value] : module->named_buffers()) {
    if (path == name) return value.value();
  }
  throw std::invalid_argument("no buffer " + name);
}

FunctionRegistry with_pipeline_functions(const FunctionRegistry& functions) {
  return functions.with({{"DenseStage", dense_stage},
                         {"DenseStage::counts", &DenseStage::counts},
                         {"FaultyStage", faulty_stage},
                         {"ForkStage", fork_stage},
                         {"MergeStage", merge_stage},
                         {"ManyGiver", many_giver},
                         {"ManyTaker", many_taker},
                         {"LayerShare", layer_share},
                         {"ReplicaStage", replica_stage},
                         {"make_replica_stage", &make_replica_stage},
                         {"ReplicaStage::freeze_all", &ReplicaStage::freeze_all},
                         {"ReplicaStage::sums", &ReplicaStage::sums},
                         {"replica_step", &replica_step},
                         {"replica_steps_until_failure", &replica_steps_until_failure},
                         {"squared_error", &squared_error},
                         {"sum_of_squares", &sum_of_squares},
                         {"sum_of_result", &sum_of_result},
                         {"rows_of_result", &rows_of_result},
                         {"constant_loss", &constant_loss},
                         {"buffer_of", &buffer_of}});
}

}  // namespace troupe::testing

#include "tests/conformance/replica_functions.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "autograd/ops.h"
#include "node/gloo_collective.h"
#include "tensor/create.h"
#include "tensor/ops.h"

namespace troupe::testing {
namespace {

Tensor or_empty(const Tensor& gradient) { return gradient.defined() ? gradient : empty({0}); }

std::string text_of(const Error& error) {
  return std::string(name_of(error.code)) + " " + error.peer + ": " + error.message;
}

DataParallelOptions options_of(const ReplicaPlan& plan) {
  DataParallelOptions options;
  options.first_bucket_bytes = 16;
  options.bucket_bytes = 128;  // several buckets
  options.divisor = plan.divides_by_active ? Divisor::active : Divisor::members;
  return options;
}

/// Returns the result of the network for one batch.
Variable result_of(const Scope& scope, const ReplicaPlan& plan, const DataParallel<ReplicaNet>* replica,
                   ReplicaNet& net, const Tensor& words, const Leaf& far) {
  Scope inner = scope;
  if (replica == nullptr) return net.forward(inner, words, far);
  if (plan.wrapped == Wrapped::whole) return replica->forward(scope, words, far);
  replica->synchronize(scope);
  return mean(inner.rpc_sync(far.owner(), &times_leaf, net.local_part(words), far));
}

void fail(std::int32_t signal, const std::string& text) {
  if (signal == 0) throw std::runtime_error(text);
  ::kill(::getpid(), signal);
}

/// Makes the next pass over `net` fail as `plan` says, until the hooks are removed.
std::vector<HookHandle> fail_in_next_pass(const ReplicaPlan& plan, const ReplicaNet& net) {
  const std::vector<Variable> parameters = net.parameters();
  std::vector<HookHandle> hooks;
  if (plan.fails_in >= 0) {
    const Variable& parameter = parameters.at(static_cast<std::size_t>(plan.fails_in));
    hooks.push_back(parameter.register_hook([signal = plan.signal](const Tensor&) { fail(signal, "boom"); }));
    return hooks;
  }
  const auto final_count = std::make_shared<std::atomic<int>>(0);
  for (const Variable& parameter : parameters) {
    hooks.push_back(parameter.register_post_accumulate_grad_hook(
        [final_count](const Variable&, const Tensor&) { ++*final_count; }));
  }
  hooks.push_back(net.input().register_hook([final_count, signal = plan.signal](const Tensor&) {
    fail(signal, "boom after " + std::to_string(*final_count) + " gradients");
  }));
  return hooks;
}

}  // namespace

ReplicaNet::ReplicaNet(std::uint64_t seed, bool sparse, bool with_norm) : input_(zeros({4}), RequiresGrad::yes) {
  Generator generator(seed);
  table_ =
      add_module("table", std::make_shared<nn::Embedding>(kWords, 4, generator, EmbeddingOptions{.sparse = sparse}));
  first_ = add_module("first", std::make_shared<nn::Linear>(4, 5, generator));
  if (with_norm) norm_ = add_module("norm", std::make_shared<nn::BatchNorm1d>(5));
  unused_ = add_module("unused", std::make_shared<nn::Linear>(2, 2, generator));
  second_ = add_module("second", std::make_shared<nn::Linear>(5, kWidth, generator));
}

Variable ReplicaNet::local_part(const Tensor& words) const {
  const Variable hidden = tanh(first_->forward(table_->forward(words) + input_));
  return second_->forward(norm_ ? norm_->forward(hidden) : hidden);
}

Variable ReplicaNet::forward(Scope& scope, const Tensor& words, const Leaf& far) const {
  return mean(scope.rpc_sync(far.owner(), &times_leaf, local_part(words), far));
}

ReplicaOutcome run_replica(Scope& scope, const ReplicaPlan& plan, const Leaf& far) {
  const auto members = gloo_collective(scope, Group(plan.members));
  const auto net = std::make_shared<ReplicaNet>(7 + members->rank(), plan.sparse, plan.with_norm);
  std::optional<DataParallel<ReplicaNet>> replica;
  if (plan.wrapped != Wrapped::nothing) replica.emplace(scope, members, net, options_of(plan));
  const std::vector<Variable> parameters = net->parameters();
  ReplicaOutcome outcome;
  for (std::size_t i = 0; i < plan.batches.size(); ++i) {
    std::vector<HookHandle> hooks;
    if (static_cast<std::int64_t>(i) == plan.fails_at) hooks = fail_in_next_pass(plan, *net);
    DistBackwardOptions options;
    if (plan.only_input >= 0) options.inputs.emplace_back(parameters.at(static_cast<std::size_t>(plan.only_input)));
    const auto pass = [&](const DistContext& context) {
      backward(context, result_of(context, plan, replica ? &*replica : nullptr, *net, plan.batches[i], far), options);
    };
    try {
      const DistContext context(scope);
      if (plan.holds && i + 1 < plan.batches.size()) {
        const auto held = replica->no_sync();
        pass(context);
      } else {
        pass(context);
      }
      std::vector<Tensor> gradients;
      for (const Variable& parameter : parameters) gradients.push_back(or_empty(context.grad(parameter)));
      outcome.rows_stayed = outcome.rows_stayed && context.gradients().sparse_of(parameters.front()).defined();
      outcome.far_gradients.push_back(context.grad(far));
      for (std::size_t p = 0; p < parameters.size(); ++p) {
        if (gradients[p].numel() > 0) parameters[p].set_value(parameters[p].value() - gradients[p] * plan.rate);
      }
      outcome.gradients.push_back(std::move(gradients));
      std::vector<Tensor> row;
      for (const Variable& parameter : parameters) row.push_back(parameter.value().reshape({-1}));
      outcome.steps.push_back(concat(row, 0));
    } catch (const RemoteError& error) {
      outcome.errors.push_back(text_of(error.error()));
    }
    for (HookHandle& hook : hooks) hook.remove();
  }
  if (plan.joins) replica->join();
  for (const auto& [name, value] : net->named_state()) outcome.values.push_back(value.value());
  return outcome;
}

std::string train_replica_until_failure(Scope& scope, const std::vector<NodeName>& members) {
  try {
    const DataParallel replica(scope, gloo_collective(scope, Group(members)),
                               std::make_shared<ReplicaNet>(1, false, false));
    while (true) {
      const DistContext context(scope);
      replica.synchronize(context);
      backward(context, sum(replica.module().local_part(zeros({2}, DType::i64))));
    }
  } catch (const RemoteError& error) {
    return std::string(name_of(error.code())) + " " + error.error().peer;
  }
}

FunctionRegistry with_replica_functions(const FunctionRegistry& functions) {
  return functions.with({{"run_replica", &run_replica}, {"train_replica_until_failure", &train_replica_until_failure}});
}

}  // namespace troupe::testing

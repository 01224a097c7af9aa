#include "actors/dist_optimizer.h"

#include <fmt/format.h>

#include <cmath>
#include <deque>
#include <map>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "actors/contexts/contexts.h"
#include "actors/core/node_core.h"
#include "actors/dist_autograd.h"
#include "actors/shards/early_updates.h"
#include "actors/shards/optimizer_driver.h"
#include "optim/clip.h"
#include "tensor/error.h"
#include "tensor/ops/global_norm.h"

namespace troupe {
namespace {

/// Owners that a context never reached find no gradient in it, and none in one that has ended: that is known here.
void require_context(const Scope& scope, std::string_view operation) {
  if (!scope.state().context) {
    throw std::logic_error(
        "[DistOptimizer] the scope has no autograd context: step in the DistContext of the backward pass");
  }
  const auto& node = *scope.state().node;
  if (auto ended = node.contexts().ended_for(scope.state(), node.name())) {
    ended->operation = operation;
    throw RemoteError(*std::move(ended));
  }
}

/// As above, after owners were asked: one that has forgotten a context which was aborted finds no gradient in it.
void require_alive(const Scope& scope) { scope.state().node->contexts().alive(*scope.state().context).get(); }

std::vector<DistParameterGroup> one_group(std::vector<RRef<Variable>> parameters, const optim::RuleOptions& options) {
  std::vector<DistParameterGroup> groups;
  groups.push_back({std::move(parameters), options});
  return groups;
}

msg::StepSettings settings_of(const detail::OptimizerDriver& driver, const DistStepOptions& options) {
  msg::StepSettings settings{driver.rates(), options.gradient_scale, options.gradient_limit};
  const std::vector<double> of_this_step = options.lr.of_groups(settings.rates.size());
  for (std::size_t g = 0; g < of_this_step.size(); ++g) settings.rates[g].lr = of_this_step[g];
  return settings;
}

}  // namespace

StepRates::StepRates(double of_all) : of_all_(of_all) {}

StepRates::StepRates(std::initializer_list<double> each) : each_(each) {}

StepRates::StepRates(std::vector<double> each) : each_(std::move(each)) {}

std::vector<double> StepRates::of_groups(std::size_t count) const {
  if (of_all_) return std::vector<double>(count, *of_all_);
  if (each_.empty() || each_.size() == count) return each_;
  throw ValueError(fmt::format("[DistOptimizer] {} rates for {} groups", each_.size(), count));
}

DistOptimizer::DistOptimizer(const Scope& scope, const optim::RuleOptions& options,
                             std::vector<RRef<Variable>> parameters, const Stepping& stepping)
    : DistOptimizer(scope, one_group(std::move(parameters), options), stepping) {}

DistOptimizer::DistOptimizer(const Scope& scope, std::vector<DistParameterGroup> groups, const Stepping& stepping)
    : driver_(std::make_shared<detail::OptimizerDriver>(scope.state().node, std::move(groups), stepping)) {
  driver_->create(*scope.state().node, due_of(scope.state()));
}

DistOptimizer::DistOptimizer(const Scope& scope, const SharedOptimizer& shared) {
  if (!shared.defined()) throw std::invalid_argument("[DistOptimizer] the shared optimizer is null");
  const detail::SharedOptimizerParts& parts = shared.parts();
  driver_ = std::make_shared<detail::OptimizerDriver>(scope.state().node, parts.groups, parts.stepping);
  driver_->join(*scope.state().node, due_of(scope.state()), parts);
}

SharedOptimizer::SharedOptimizer(detail::SharedOptimizerParts parts) : parts_(std::move(parts)) {}

SharedOptimizer DistOptimizer::share() const { return SharedOptimizer(driver_->shared()); }

double DistOptimizer::gradient_norm(const Scope& scope) const {
  require_context(scope, "gradient_norm");
  std::map<NodeName, std::vector<RRef<Variable>>> by_owner;
  for (const DistParameterGroup& group : driver_->groups()) {
    for (const RRef<Variable>& parameter : group.parameters) by_owner[parameter.owner()].push_back(parameter);
  }
  std::map<NodeName, Future<std::vector<double>>> asked;
  for (const auto& [owner, leaves] : by_owner) {
    asked.emplace(owner, scope.rpc_async(owner, &detail::gradient_squares, leaves));
  }
  std::map<NodeName, std::deque<double>> squares;
  for (const auto& [owner, answer] : asked) {
    const std::vector<double> all = answer.get();
    if (all.size() != by_owner.at(owner).size()) {
      throw RemoteError(scope.state().node->error(ErrorCode::protocol_violation, owner, "gradient_norm",
                                                  "the answer has another number of parameters"));
    }
    squares[owner].assign(all.begin(), all.end());
  }
  require_alive(scope);
  double sum = 0;
  for (const DistParameterGroup& group : driver_->groups()) {
    for (const RRef<Variable>& parameter : group.parameters) {
      std::deque<double>& next = squares.at(parameter.owner());
      sum += next.front();
      next.pop_front();
    }
  }
  return std::sqrt(sum);
}

void DistOptimizer::overlap(const Scope& scope, const DistStepOptions& options) const {
  require_context(scope, "overlap");
  if (options.max_norm) {
    throw std::invalid_argument(
        "[DistOptimizer] overlap with max_norm: the norm of all gradients is not known before the pass ends");
  }
  const msg::StepSettings settings = settings_of(*driver_, options);
  std::vector<Future<void>> asked;
  for (const NodeLife& owner : driver_->owners())
    asked.push_back(scope.rpc_async(owner.name, &detail::prepare_in_pass, driver_->id(), settings));
  for (const Future<void>& answer : asked) answer.get();
  require_alive(scope);
}

void DistOptimizer::step(const Scope& scope, const DistStepOptions& options) const {
  require_context(scope, "step");
  msg::StepSettings settings = settings_of(*driver_, options);
  if (options.max_norm) {
    const double norm = std::abs(options.gradient_scale) * gradient_norm(scope);
    settings.gradient_scale *= optim::clip_scale(norm, *options.max_norm);
  }
  driver_->step(*scope.state().node, due_of(scope.state()), *scope.state().context, settings);
}

std::size_t DistOptimizer::group_count() const noexcept { return driver_->groups().size(); }
double DistOptimizer::lr(std::size_t group) const { return driver_->lr(group); }
void DistOptimizer::set_lr(std::size_t group, double lr) { driver_->set_lr(group, lr); }
double DistOptimizer::momentum(std::size_t group) const { return driver_->momentum(group); }
void DistOptimizer::set_momentum(std::size_t group, double momentum) { driver_->set_momentum(group, momentum); }

NamedTensors DistOptimizer::state_dict(const Scope& scope, StateContent content) const {
  return driver_->state_dict(*scope.state().node, due_of(scope.state()), content);
}

void DistOptimizer::load_state_dict(const Scope& scope, const NamedTensors& state) {
  driver_->load_state_dict(*scope.state().node, due_of(scope.state()), state);
}

Future<StepOutcome> DistOptimizer::outcome(const StepId& step) const { return driver_->outcome(step); }

namespace detail {

std::shared_ptr<OptimizerDriver> driver_of(const DistOptimizer& optimizer) { return optimizer.driver_; }

std::vector<double> gradient_squares(Scope& scope, const std::vector<RRef<Variable>>& leaves) {
  const Gradients all = gradients(scope);
  std::vector<double> squares;
  for (const RRef<Variable>& leaf : leaves) {
    const Variable mine = *leaf.local_value(scope);
    const SparseTensor rows = all.sparse_of(mine);
    const Tensor gradient = rows.defined() ? rows.values() : all.of(mine);
    squares.push_back(gradient.defined() ? sum_of_squares({&gradient, 1}) : 0.0);
  }
  return squares;
}

}  // namespace detail

}  // namespace troupe

#include "optim/local_optimizer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <unordered_map>

#include "optim/second_buffers.h"
#include "tensor/error.h"

namespace troupe::optim {
namespace {

std::string prefix_of(std::size_t group) { return fmt::format("groups.{}.", group); }

std::vector<ParameterGroup> one_group(Parameters parameters, const RuleOptions& options) {
  std::vector<ParameterGroup> groups;
  groups.push_back({std::move(parameters), options});
  return groups;
}

/// Returns whether a value stored in place of `x` would use exactly its memory, and no write would have to copy it
/// first.
bool fills_its_memory(const Tensor& x) {
  return x.is_contiguous() && x.storage().size() == x.nbytes() && !x.storage().frozen();
}

}  // namespace

struct LocalOptimizer::Groups {
  struct Group {
    std::vector<Parameter> parameters;
    RuleOptions options;
    std::unique_ptr<Optimizer> rule;
    SecondBuffers buffers;
  };
  struct Place {
    std::size_t group = 0;
    std::size_t index = 0;
  };
  std::vector<Group> all;
  std::unordered_map<const void*, Place> places;  ///< of each parameter, by its id
};

LocalOptimizer::LocalOptimizer(Parameters parameters, const RuleOptions& options)
    : LocalOptimizer(one_group(std::move(parameters), options)) {}

LocalOptimizer::LocalOptimizer(std::vector<ParameterGroup> groups) : groups_(std::make_unique<Groups>()) {
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::vector<Parameter>& parameters = groups[g].parameters.all();
    if (parameters.empty()) throw ValueError(fmt::format("[optimizer] group {} has no parameters", g));
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (!parameters[i].is_leaf()) {
        throw TensorError(fmt::format("[optimizer] parameter {} of group {} is not a leaf", i, g));
      }
      if (!groups_->places.emplace(parameters[i].id(), Groups::Place{g, i}).second) {
        throw ValueError(fmt::format("[optimizer] parameter {} of group {} is given twice", i, g));
      }
    }
    groups_->all.push_back(
        {parameters, groups[g].options, make_rule(groups[g].options), SecondBuffers(parameters.size())});
  }
}

LocalOptimizer::~LocalOptimizer() = default;
LocalOptimizer::LocalOptimizer(LocalOptimizer&& other) noexcept = default;
LocalOptimizer& LocalOptimizer::operator=(LocalOptimizer&& other) noexcept = default;

std::size_t LocalOptimizer::group_count() const noexcept { return groups_->all.size(); }

bool LocalOptimizer::has(const void* parameter) const { return groups_->places.contains(parameter); }

bool LocalOptimizer::steps_by_rows(const void* parameter) const {
  return groups_->all[groups_->places.at(parameter).group].rule->zero_changes_nothing();
}

bool LocalOptimizer::are_rows(const void* parameter, const SparseTensor& gradient) const {
  const auto [g, i] = groups_->places.at(parameter);
  return gradient.sparse_dim() == 1 && gradient.shape() == groups_->all[g].parameters[i].value().shape();
}

void LocalOptimizer::step_found(const Found& found, const StepOptions& options) {
  std::vector<std::vector<ParameterUpdate>> updates(groups_->all.size());
  for (const auto& [id, gradient, given_up, rows] : found) {
    const auto place = groups_->places.find(id);
    if (place == groups_->places.end() || !gradient.defined()) continue;
    const auto [g, i] = place->second;
    Tensor current = groups_->all[g].parameters[i].value();
    SecondBuffers& buffers = groups_->all[g].buffers;
    const bool in_place = given_up == GivenUp::yes && fills_its_memory(gradient);
    Tensor next = in_place         ? gradient
                  : rows.defined() ? buffers.take_equal(i, current, rows)
                                   : buffers.take(i, current);
    updates[g].push_back({i, std::move(current), gradient, std::move(next), rows});
  }
  std::vector<Optimizer::Part> parts;
  for (std::size_t g = 0; g < groups_->all.size(); ++g) parts.push_back({groups_->all[g].rule.get(), updates[g]});
  Optimizer::step_together(parts, options);
  for (std::size_t g = 0; g < groups_->all.size(); ++g) {
    for (ParameterUpdate& update : updates[g]) {
      const bool in_place = update.next.storage().same_as(update.gradient.storage());
      groups_->all[g].parameters[update.index].set_value(update.next);
      if (update.rows.defined()) {
        groups_->all[g].buffers.give(update.index, std::move(update.current), update.next, update.rows);
      } else {
        groups_->all[g].buffers.give(update.index, in_place ? Tensor() : std::move(update.current));
      }
    }
  }
}

const Optimizer& LocalOptimizer::rule(std::size_t group) const {
  require_group(group);
  return *groups_->all[group].rule;
}

void LocalOptimizer::set_lr(std::size_t group, double lr) {
  require_group(group);
  groups_->all[group].rule->set_lr(lr);
}

void LocalOptimizer::set_lr(double lr) {
  for (const Groups::Group& group : groups_->all) group.rule->set_lr(lr);
}

void LocalOptimizer::set_momentum(std::size_t group, double momentum) {
  require_group(group);
  groups_->all[group].rule->set_momentum(momentum);
}

void LocalOptimizer::require_group(std::size_t number) const {
  if (number >= groups_->all.size())
    throw IndexError(fmt::format("[optimizer] no group {} of {}", number, groups_->all.size()));
}

NamedTensors LocalOptimizer::state_dict() const {
  NamedTensors all;
  for (std::size_t g = 0; g < groups_->all.size(); ++g) {
    for (auto& [name, tensor] : groups_->all[g].rule->state_dict())
      all.emplace_back(prefix_of(g) + name, std::move(tensor));
  }
  return all;
}

void LocalOptimizer::load_state_dict(const NamedTensors& state) {
  std::set<std::string> prefixes;
  for (std::size_t g = 0; g < groups_->all.size(); ++g) prefixes.insert(prefix_of(g));
  std::vector<std::string> unexpected;
  for (const auto& [name, tensor] : state) {
    const std::size_t end = name.find('.', name.find('.') + 1);  // of "groups.0."
    if (end == std::string::npos || !prefixes.contains(name.substr(0, end + 1))) unexpected.push_back(name);
  }
  if (!unexpected.empty())
    throw ValueError(fmt::format("[load_state_dict] unexpected: {}", fmt::join(unexpected, ", ")));
  std::vector<std::unique_ptr<Optimizer>> loaded;
  for (std::size_t g = 0; g < groups_->all.size(); ++g) {
    const Groups::Group& group = groups_->all[g];
    std::vector<Tensor> values;
    for (const Parameter& parameter : group.parameters) values.push_back(parameter.value());
    auto rule = make_rule(group.options);
    rule->load_state_dict(state, values, prefix_of(g));
    const double momentum = group.rule->momentum();  // of a schedule: no state has it
    if (momentum != rule->momentum()) rule->set_momentum(momentum);
    loaded.push_back(std::move(rule));
  }
  for (std::size_t g = 0; g < groups_->all.size(); ++g) groups_->all[g].rule = std::move(loaded[g]);
}

}  // namespace troupe::optim

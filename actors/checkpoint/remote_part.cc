#include "actors/checkpoint/remote_part.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <set>
#include <stdexcept>

#include "actors/references/copied_variables.h"
#include "tensor/error.h"

namespace troupe::detail {
namespace {

/// The variables of one owner.
struct Place {
  std::vector<std::string> names;
  std::vector<RRef<Variable>> variables;
};

std::map<NodeName, Place> places_of(const NamedReferences& variables) {
  if (variables.empty()) throw std::invalid_argument("[checkpoint] no variables");
  std::map<NodeName, Place> places;
  std::set<std::string> seen;
  for (const auto& [name, variable] : variables) {
    if (!seen.insert(name).second) throw std::invalid_argument(fmt::format("[checkpoint] name given twice: {}", name));
    Place& place = places[variable.owner()];
    place.names.push_back(name);
    place.variables.push_back(variable);
  }
  return places;
}

/// Returns the tensors of all files. Throws ValueError unless their names are `wanted`.
std::map<std::string, Tensor> tensors_of(const std::vector<CheckpointFile>& saved,
                                         const std::set<std::string>& wanted) {
  std::map<std::string, Tensor> tensors;
  std::string unexpected;
  for (const CheckpointFile& file : saved) {
    for (const auto& [name, tensor] : file.content.tensors) {
      if (!tensors.emplace(name, tensor).second || !wanted.contains(name)) unexpected += " " + name;
    }
  }
  std::string missing;
  for (const std::string& name : wanted) {
    if (!tensors.contains(name)) missing += " " + name;
  }
  if (!missing.empty() || !unexpected.empty())
    throw ValueError(fmt::format("[checkpoint] missing:{}; unexpected or given twice:{}", missing, unexpected));
  return tensors;
}

TensorPlan plan_of(const std::string& name, const Tensor& tensor) { return {name, tensor.dtype(), tensor.shape()}; }

NamedTensors values_of(const Scope& scope, const std::vector<std::string>& names,
                       const std::vector<RRef<Variable>>& variables) {
  NamedTensors values;
  for (std::size_t i = 0; i < names.size(); ++i)
    values.emplace_back(names[i], (*variables[i].local_value(scope)).value());
  return values;
}

}  // namespace

TensorSource source_of(const Tensor& tensor) {
  const FrozenBytes all = tensor.contiguous().freeze();
  return {tensor.nbytes(), 1, [all](std::uint64_t first, std::uint64_t count) {
            return Tensor::from_storage(Storage::adopt(all.part(first, count)), {static_cast<std::int64_t>(count)}, {1},
                                        0, DType::u8);
          }};
}

RemotePart part_of(RemoteModuleState module) {
  const auto shared = std::make_shared<const RemoteModuleState>(std::move(module));
  RemotePart part;
  part.snapshots = [shared](const Scope& scope) { return std::vector{shared->snapshot(scope)}; };
  part.stage = [shared](const Scope& scope, const std::vector<CheckpointFile>& saved) {
    std::vector<TensorPlan> plans;
    Staging staging;
    for (const CheckpointFile& file : saved) {
      for (const auto& [name, tensor] : file.content.tensors) {
        plans.push_back(plan_of(name, tensor));
        staging.tensors.push_back(source_of(tensor));
      }
    }
    staging.target = shared->stage(scope, plans);
    return std::vector{std::move(staging)};
  };
  return part;
}

RemotePart part_of(const NamedReferences& variables) {
  const auto places = std::make_shared<const std::map<NodeName, Place>>(places_of(variables));
  RemotePart part;
  part.snapshots = [places](const Scope& scope) {
    std::vector<RRef<StateSnapshot>> snapshots;
    for (const auto& [owner, place] : *places)
      snapshots.push_back(scope.remote(owner, &snapshot_of_variables, place.names, place.variables));
    return snapshots;
  };
  part.stage = [places](const Scope& scope, const std::vector<CheckpointFile>& saved) {
    std::set<std::string> wanted;
    for (const auto& [owner, place] : *places) wanted.insert(place.names.begin(), place.names.end());
    const auto tensors = tensors_of(saved, wanted);
    std::vector<Staging> stagings;
    for (const auto& [owner, place] : *places) {
      Staging& staging = stagings.emplace_back();
      std::vector<TensorPlan> plans;
      for (const std::string& name : place.names) {
        plans.push_back(plan_of(name, tensors.at(name)));
        staging.tensors.push_back(source_of(tensors.at(name)));
      }
      staging.target = scope.remote(owner, &stage_variables, plans, place.variables);
    }
    return stagings;
  };
  return part;
}

void load_at_owner(const Scope& now, nn::Module& module, const NamedTensors& state) {
  std::vector<Variable> all;  // listed before anything is set: memory may run out
  for (const auto& [name, variable] : module.named_parameters()) all.push_back(variable);
  for (const auto& [name, variable] : module.named_buffers()) all.push_back(variable);
  load_full_state(module, state);
  announce_changes(now.state(), all);
}

StateSnapshot snapshot_of_variables(Scope& scope, const std::vector<std::string>& names,
                                    const std::vector<RRef<Variable>>& variables) {
  if (names.size() != variables.size())
    throw ValueError(fmt::format("[checkpoint] {} names for {} variables", names.size(), variables.size()));
  return StateSnapshot(scope, [names, variables](const Scope& now) { return values_of(now, names, variables); });
}

StagedState stage_variables(Scope& scope, const std::vector<TensorPlan>& plans,
                            const std::vector<RRef<Variable>>& variables) {
  std::vector<std::string> names;
  for (const TensorPlan& plan : plans) names.push_back(plan.name);
  if (names.size() != variables.size())
    throw ValueError(fmt::format("[checkpoint] {} tensors for {} variables", names.size(), variables.size()));
  check_plans("checkpoint", plans_of(values_of(scope, names, variables)), plans);
  return StagedState(plans, [variables](const Scope& now, const NamedTensors& state) {
    std::vector<Variable> all;
    std::vector<Tensor> values;  // on their devices before the first is set
    for (std::size_t i = 0; i < variables.size(); ++i) {
      all.push_back(*variables[i].local_value(now));
      values.push_back(state[i].second.to(all.back().device()));
    }
    for (std::size_t i = 0; i < all.size(); ++i) all[i].set_value(values[i]);
    announce_changes(now.state(), all);
  });
}

}  // namespace troupe::detail

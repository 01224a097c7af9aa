#include "actors/checkpoint/optimizer_part.h"

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "actors/calls/scope_state.h"
#include "actors/core/node_core.h"
#include "actors/shards/optimizer_driver.h"
#include "actors/shards/prepared_load.h"
#include "actors/shards/shard_parameters.h"
#include "actors/shards/shards.h"
#include "actors/shards/state_names.h"
#include "tensor/create.h"

namespace troupe::detail {
namespace {

/// The states of a shard between two changes.
struct ShardStates {
  std::uint64_t version = 0;
  std::uint64_t open = 0;  ///< steps that are prepared and not decided
  NamedTensors state;
};

enum class Content : std::uint8_t { version, state };

ShardStates read_states(const Scope& scope, const OptimizerId& optimizer, Content content) {
  const auto read = std::make_shared<ShardStates>();
  scope.state()
      .node->shards()
      .read(optimizer,
            [read, content](const ShardParameters& parameters) {
              read->version = parameters.version();
              read->open = parameters.open_steps();
              if (content == Content::state && read->open == 0) read->state = parameters.state_dict();
            })
      .get();
  return std::move(*read);
}

/// Returns the states of parameters, and, if there are `rates`, the options of the groups with these rates.
NamedTensors with_rates(NamedTensors all, const std::vector<double>& rates) {
  NamedTensors state;
  for (auto& [name, tensor] : all) {
    const auto parts = parse_state_name(name);
    const bool is_option = parts && !parts->place;
    if (is_option && parts->group >= rates.size()) continue;
    if (is_option && parts->rest.ends_with(".lr")) tensor = full({}, rates[parts->group], DType::f64);
    state.emplace_back(std::move(name), std::move(tensor));
  }
  return state;
}

std::vector<TablePlace> places_of(const std::vector<TableOfOptimizer>& tables) {
  std::vector<TablePlace> places;
  for (const TableOfOptimizer& table : tables) {
    places.push_back(
        {table.name, table.group, table.first, table.table.table().rows, std::ssize(table.table.shards())});
  }
  return places;
}

}  // namespace

OptimizerPart part_of(const DistOptimizer& optimizer, const std::vector<TableOfOptimizer>& tables) {
  const auto driver = driver_of(optimizer);
  const std::vector<TablePlace> places = places_of(tables);
  OptimizerPart part;
  part.snapshots = [driver](const Scope& scope) {
    wait_between_steps(*scope.state().node, due_of(scope.state()), [&] { return !driver->has_unresolved(); });
    std::vector<double> rates;
    for (const msg::StepRate& rate : driver->rates()) rates.push_back(rate.lr);
    std::vector<RRef<StateSnapshot>> snapshots;
    for (const NodeLife& owner : driver->owners()) {
      snapshots.push_back(scope.remote(owner.name, &snapshot_of_states, driver->id(), rates));
      rates.clear();  // the first owner has the options
    }
    return snapshots;
  };
  part.is_settled = [driver] { return !driver->has_unresolved(); };
  part.name_in_checkpoint = checkpoint_names(places);
  part.prepare = [driver, places](const Scope& scope, const NamedTensors& saved) {
    return driver->prepare_load(*scope.state().node, due_of(scope.state()), with_split_tables(saved, places));
  };
  return part;
}

StateSnapshot snapshot_of_states(Scope& scope, const OptimizerId& optimizer, const std::vector<double>& rates) {
  NodeCore& node = *scope.state().node;
  if (scope.caller() != optimizer.creator) {
    throw RemoteError(node.error(ErrorCode::protocol_violation, node.name(), "save state",
                                 fmt::format("optimizer {} is not of {}", optimizer.text(), scope.caller())));
  }
  ShardStates states;
  wait_between_steps(node, due_of(scope.state()), [&] {
    states = read_states(scope, optimizer, Content::state);
    return states.open == 0;
  });
  return {with_rates(std::move(states.state), rates), [optimizer, version = states.version](const Scope& later) {
            const ShardStates now = read_states(later, optimizer, Content::version);
            return now.open == 0 && now.version == version;
          }};
}

}  // namespace troupe::detail

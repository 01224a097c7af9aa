// The state of a distributed optimizer in a checkpoint: read in chunks from the shards of all owners.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "actors/checkpoint/state_snapshot.h"
#include "actors/checkpoint/table_states.h"
#include "actors/dist_optimizer.h"
#include "actors/rref.h"
#include "messages/ids.h"
#include "tensor/io/named_tensors.h"

namespace troupe::detail {

class PreparedLoad;

/// The functions hold a copy of the handle.
struct OptimizerPart {
  /// Begins a snapshot on each owner, when no step of the handle is under way. Throws RemoteError: timeout.
  std::function<std::vector<RRef<StateSnapshot>>(const Scope&)> snapshots;
  /// Returns whether no step of the handle is under way. If so after the snapshots were made, and all are current
  /// later, they are of one moment (SH-12).
  std::function<bool()> is_settled;
  std::function<std::string(const std::string& name)> name_in_checkpoint;
  /// Gives the saved state to all owners, which do not take it yet. Throws as DistOptimizer::load_state_dict, and
  /// ValueError for a table that does not fit.
  std::function<PreparedLoad(const Scope&, const NamedTensors& saved)> prepare;
};

/// Throws ValueError if two tables have one name or one place.
[[nodiscard]] OptimizerPart part_of(const DistOptimizer& optimizer, const std::vector<TableOfOptimizer>& tables);

/// Every node serves this. Returns the states of the optimizer's parameters on this node, at a moment at which no step
/// is prepared and undecided. With `rates`, one for each group, the snapshot also has the options of the groups, which
/// are the same on all owners, and these rates. Throws RemoteError: protocol_violation if the optimizer is not of the
/// caller; step_not_applied if it has no shard on this node; timeout.
[[nodiscard]] StateSnapshot snapshot_of_states(Scope& scope, const OptimizerId& optimizer,
                                               const std::vector<double>& rates);

}  // namespace troupe::detail

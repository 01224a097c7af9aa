// The parts of a checkpoint that live on other nodes: how their state is read there and set again.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "actors/checkpoint/staged_state.h"
#include "actors/checkpoint/state_snapshot.h"
#include "actors/rref.h"
#include "autograd/variable.h"
#include "tensor/io/checkpoint_files.h"

namespace troupe::detail {

/// The bytes of one tensor, as its owner will have it.
struct TensorSource {
  std::uint64_t bytes = 0;
  std::uint64_t unit = 1;  ///< `read` begins and ends at multiples of it
  /// Returns `count` bytes from byte `first` on, u8 (count). Called from the first byte to the last, without a gap.
  std::function<Tensor(std::uint64_t first, std::uint64_t count)> read;
};

/// A state to be sent to its owner: the source of each of its tensors.
struct Staging {
  RRef<StagedState> target;
  std::vector<TensorSource> tensors;
};

/// Both functions begin their work on all owners and return at once.
struct RemotePart {
  std::function<std::vector<RRef<StateSnapshot>>(const Scope&)> snapshots;
  /// `saved`: the part's files, in the order in which the snapshots were given. Throws ValueError if they do not fit.
  std::function<std::vector<Staging>(const Scope&, const std::vector<CheckpointFile>& saved)> stage;
};

/// A part that is one module on one node.
struct RemoteModuleState {
  std::function<RRef<StateSnapshot>(const Scope&)> snapshot;
  std::function<RRef<StagedState>(const Scope&, const std::vector<TensorPlan>&)> stage;
};
[[nodiscard]] RemotePart part_of(RemoteModuleState module);

/// Variables with names, on any nodes.
using NamedReferences = std::vector<std::pair<std::string, RRef<Variable>>>;
/// Throws std::invalid_argument if there are none, or a name is given twice.
[[nodiscard]] RemotePart part_of(const NamedReferences& variables);

/// Returns the source of a tensor in a file.
[[nodiscard]] TensorSource source_of(const Tensor& tensor);

/// Sets the state of a module that the node of `now` owns. Copies of its variables are out of date then.
void load_at_owner(const Scope& now, nn::Module& module, const NamedTensors& state);

// A module_class registers these.

template <class M>
StateSnapshot snapshot_at_owner(Scope& scope, const RRef<M>& module) {
  return StateSnapshot(scope, [module](const Scope& now) { return full_state(*module.local_value(now)); });
}

template <class M>
StagedState stage_at_owner(Scope& scope, const RRef<M>& module, const std::vector<TensorPlan>& plans) {
  check_full_state(*module.local_value(scope), plans);
  return StagedState(plans, [module](const Scope& now, const NamedTensors& state) {
    load_at_owner(now, *module.local_value(now), state);
  });
}

// Every node serves these.

[[nodiscard]] StateSnapshot snapshot_of_variables(Scope& scope, const std::vector<std::string>& names,
                                                  const std::vector<RRef<Variable>>& variables);
[[nodiscard]] StagedState stage_variables(Scope& scope, const std::vector<TensorPlan>& plans,
                                          const std::vector<RRef<Variable>>& variables);

}  // namespace troupe::detail

// Checkpoints: the state of a training on all nodes, in files of one directory, and back onto as many nodes as there
// are then.
//
//   Checkpoint checkpoint;
//   checkpoint.add("net", net).add("optimizer", optimizer).add("step", step);   // the same list for both
//   if (has_checkpoint("run")) checkpoint.restore(node, "run");
//   ...
//   checkpoint.save(node, "run");
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "actors/checkpoint/embedding_part.h"
#include "actors/checkpoint/optimizer_part.h"
#include "actors/checkpoint/remote_part.h"
#include "actors/checkpoint/table_states.h"
#include "actors/dist_optimizer.h"
#include "actors/embedding/sharded_embedding.h"
#include "actors/remote_module.h"
#include "actors/rref.h"
#include "actors/scope.h"
#include "autograd/nn/module.h"
#include "tensor/generator.h"
#include "tensor/io/checkpoint_files.h"
#include "tensor/io/file_path.h"
#include "tensor/io/named_tensors.h"

namespace troupe {

/// An object that saves and loads its state: LocalOptimizer, LrScheduler, DistributedSampler, ...
template <class T>
concept HasStateDict = requires(const T& saved, T& loaded, const NamedTensors& state) {
  { saved.state_dict() } -> std::convertible_to<NamedTensors>;
  loaded.load_state_dict(state);
};

/// How a checkpoint is written.
struct CheckpointOptions {
  std::shared_ptr<FileSystem> files = disk();
  std::size_t chunk_bytes = std::size_t{4} << 20;  ///< tensors travel in messages of this size, a few at a time
};

/// The list of a training's parts, each with a name. Values of other nodes are held by reference, objects of this node
/// must live as long as the list is used. Not thread-safe.
///
/// Modules, variables, tables and optimizers of other nodes are streamed through this node, which reads and writes the
/// files: it never holds a whole model in memory. (The restored state of a DistOptimizer travels in few messages per
/// owner, which are sent from the mapped files.) All parts show the same moment: a snapshot is valid only if every part
/// is still unchanged on its owner afterwards; otherwise it is taken again. So save() may run between the steps of one
/// driver, and beside readers; beside drivers that step without a pause it fails.
class Checkpoint {
 public:
  explicit Checkpoint(CheckpointOptions options = {});
  ~Checkpoint();
  Checkpoint(const Checkpoint&);
  Checkpoint(Checkpoint&&) noexcept;
  Checkpoint& operator=(const Checkpoint&);
  Checkpoint& operator=(Checkpoint&&) noexcept;

  // Each `add` throws std::invalid_argument if the name is empty or taken.

  /// A module on any node: parameters, buffers and generators by name. Its class is registered there by a module_class.
  template <class M>
    requires std::derived_from<M, nn::Module>
  Checkpoint& add(std::string name, const RRef<M>& module) {
    return add_remote(std::move(name), detail::part_of(detail::RemoteModuleState{
                                           [module](const Scope& scope) {
                                             return scope.remote(module.owner(), &detail::snapshot_at_owner<M>, module);
                                           },
                                           [module](const Scope& scope, const std::vector<TensorPlan>& plans) {
                                             return scope.remote(module.owner(), &detail::stage_at_owner<M>, module,
                                                                 plans);
                                           }}));
  }
  template <class M>
  Checkpoint& add(std::string name, const RemoteModule<M>& module) {
    return add(std::move(name), module.module_rref());
  }

  /// Variables on any nodes, by name.
  Checkpoint& add(std::string name, const detail::NamedReferences& variables) {
    return add_remote(std::move(name), detail::part_of(variables));
  }

  /// The rows of a table; restored onto any number of owners.
  Checkpoint& add(std::string name, const ShardedEmbedding& table) {
    return add_remote(std::move(name), detail::part_of(table));
  }

  /// A distributed optimizer. `tables`: the sharded tables among its parameters, whose states are restored onto any
  /// number of owners; they are in this node's memory for a moment if the number is another one. Throws also ValueError
  /// if two tables have one name or one place.
  Checkpoint& add(std::string name, const DistOptimizer& optimizer, const std::vector<TableOfOptimizer>& tables);
  Checkpoint& add(std::string name, const DistOptimizer& optimizer);

  /// A module of this node, which no other thread uses at the same time.
  Checkpoint& add(std::string name, nn::Module& module);

  /// An object of this node.
  template <HasStateDict T>
  Checkpoint& add(std::string name, T& object) {
    return add_local(std::move(name),
                     {[&object] { return object.state_dict(); },
                      [&object](const Scope& /*scope*/, const NamedTensors& state) { object.load_state_dict(state); }});
  }
  Checkpoint& add(std::string name, Generator& generator);
  /// A count: of steps, epochs or examples.
  Checkpoint& add(std::string name, std::int64_t& count);

  /// Writes the checkpoint to `directory`, which it makes if its parent exists. If this process ends meanwhile, and
  /// after an error, the directory holds the previous checkpoint or the new one, whole. Waits, within the deadline of
  /// `scope`. Throws FileError, also if the new one is in place and perhaps not yet on the disk, and if another save
  /// writes to the directory: `[file] run: another writer has locked it`; StorageFullError, which a call of a function
  /// that saves gives as storage_full; RemoteError: of a call to an owner; timeout if the state changed during each of
  /// kSnapshotsMax snapshots.
  void save(const Scope& scope, const FilePath& directory) const;

  /// Sets all parts to the state of the checkpoint in `directory`. They may be on other nodes than when it was saved.
  /// Sends all of it to the owners first; only then is it set, on all of them. Throws FileError if the checkpoint is
  /// damaged, ValueError or RemoteError (remote_exception) that lists what does not fit, RemoteError of a call to an
  /// owner, what `load_state_dict` of an object throws. The last step, in which the owners take what they have, has no
  /// deadline and is not cancelled; it ends with the owners. If one dies in it, or gets no memory on its device, others
  /// may have the restored state: restore again. Otherwise nothing on other nodes has changed, nor the rates of an
  /// optimizer; objects of this node that were added before one that throws have the restored state.
  void restore(const Scope& scope, const FilePath& directory) const;

  /// A snapshot is taken this many times at most.
  static constexpr int kSnapshotsMax = 10;

 private:
  struct LocalPart {
    std::function<NamedTensors()> state;
    std::function<void(const Scope&, const NamedTensors&)> load;
  };
  struct Part;
  struct Moment;

  Checkpoint& add_local(std::string name, LocalPart part);
  Checkpoint& add_remote(std::string name, detail::RemotePart part);
  Checkpoint& add_part(Part part);
  [[nodiscard]] Moment take_snapshots(const Scope& scope) const;
  void write_snapshot(const Scope& scope, CheckpointWriter& writer, const Part& part,
                      const RRef<detail::StateSnapshot>& snapshot) const;
  void send(const Scope& scope, const detail::Staging& staging) const;

  CheckpointOptions options_;
  std::vector<Part> parts_;
};

}  // namespace troupe

// The state of something on its owner at one moment, which the saving node reads in chunks. A plain class.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "actors/scope.h"
#include "autograd/nn/module.h"
#include "tensor/io/checkpoint_files.h"
#include "tensor/io/named_tensors.h"
#include "tensor/storage.h"
#include "tensor/tensor.h"

namespace troupe::detail {

/// Tensors as they were when the snapshot was made: optimizer steps replace values, other writes copy them first. A
/// tensor on a GPU is copied to the CPU. Thread-safe: immutable.
class StateSnapshot {
 public:
  /// Returns the present state. Called again by is_current().
  using Read = std::function<NamedTensors(const Scope&)>;
  /// Returns whether the state has not changed since it was read.
  using IsCurrent = std::function<bool(const Scope&)>;

  /// `notes` go into the file.
  StateSnapshot(const Scope& scope, Read read, std::map<std::string, std::string> notes = {});

  /// A state whose owner counts its changes.
  StateSnapshot(const NamedTensors& state, IsCurrent is_current);

  [[nodiscard]] std::vector<TensorPlan> plans() const;
  [[nodiscard]] std::map<std::string, std::string> notes() const { return notes_; }

  /// Returns `count` bytes of tensor number `tensor` from byte `first` on, u8 (count), without a copy. Throws
  /// IndexError
  /// `[checkpoint] bytes 8 to 20 of tensor 0, which has 16`.
  [[nodiscard]] Tensor read(std::uint64_t tensor, std::uint64_t first, std::uint64_t count) const;

  /// Returns whether the state is the same now: no tensor has been replaced or written to, no generator has drawn.
  [[nodiscard]] bool is_current(Scope& scope) const;

 private:
  struct Part {
    TensorPlan plan;
    Tensor tensor;
    std::uint64_t version = 0;  ///< of the tensor's memory at the snapshot
    FrozenBytes bytes;
  };
  void add(const NamedTensors& state);

  Read read_;
  IsCurrent is_current_;  // null: `read_` is called and compared
  std::map<std::string, std::string> notes_;
  std::vector<Part> parts_;
};

/// Returns the values of a module by name, as nn::state_dict, and the states of its generators (i64). Threads: as a
/// forward.
[[nodiscard]] NamedTensors full_state(nn::Module& module);

/// Throws ValueError, as nn::load_state_dict, unless a state with these tensors fits the module.
void check_full_state(nn::Module& module, const std::vector<TensorPlan>& plans);

/// Sets everything that full_state() returned. Changes nothing if it throws, as nn::load_state_dict.
void load_full_state(nn::Module& module, const NamedTensors& state);

}  // namespace troupe::detail

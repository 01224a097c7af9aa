// The values of a model by name: what a checkpoint holds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autograd/nn/module.h"
#include "tensor/io/named_tensors.h"

namespace troupe::nn {

/// Returns the values of all parameters and persistent buffers under their paths, in the order of named_state().
/// Nothing is copied; a step that follows does not change them. `write_safetensors(file, state_dict(model))` saves a
/// model. Names are those of PyTorch's modules: "0.weight", "norm.running_mean", "lstm.weight_ih_l0_reverse".
[[nodiscard]] NamedTensors state_dict(const Module& module);

/// Whether a state must have a value for each name of the module and no other.
enum class Strict : std::uint8_t { no, yes };

/// Names that only one side had.
struct LoadResult {
  std::vector<std::string> missing;     ///< of the module; they keep their values
  std::vector<std::string> unexpected;  ///< of the state
};

/// Gives every parameter and persistent buffer a copy of the value of its name:
/// `load_state_dict(model, read_safetensors(file).tensors)`. The copies are on their variables' devices.
/// Throws ValueError that names all that does not fit, and changes nothing:
/// `[load_state_dict] missing: b; unexpected: bias; given twice: c; weight is f32 (3, 4), not f32 (4, 3)`. With
/// Strict::no, missing and unexpected names are no errors.
/// Threads: the values change one by one; others may read them meanwhile.
LoadResult load_state_dict(Module& module, const NamedTensors& state, Strict strict = Strict::yes);

}  // namespace troupe::nn

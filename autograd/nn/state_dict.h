// The values of a model by name: what a checkpoint holds.
#pragma once

#include "autograd/nn/module.h"
#include "tensor/io/named_tensors.h"

namespace troupe::nn {

/// Returns the values of all parameters under their paths, in the order of named_parameters(). Nothing is copied; a
/// step that follows does not change them. `write_safetensors(file, state_dict(model))` saves a model.
[[nodiscard]] NamedTensors state_dict(const Module& module);

/// Gives every parameter a copy of the value of its name: `load_state_dict(model, read_safetensors(file).tensors)`.
/// The copies are on the parameters' devices. Throws ValueError that names all that does not fit, and changes nothing:
/// `[load_state_dict] missing: b; unexpected: bias; given twice: c; weight is f32 (3, 4), not f32 (4, 3)`.
/// Threads: the parameters change one by one; others may read them meanwhile.
void load_state_dict(Module& module, const NamedTensors& state);

}  // namespace troupe::nn

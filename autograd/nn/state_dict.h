// The values of a model by name: the contents of a saved model file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autograd/nn/module.h"
#include "tensor/io/named_tensors.h"

namespace troupe::nn {

/// Returns the values of all parameters and persistent buffers under their paths, in the order of named_state(). The
/// tensors are shared, not copied; a later optimizer step replaces values and does not change them.
/// `write_safetensors(file, state_dict(model))` saves a model. Names are those of PyTorch's modules: "0.weight",
/// "norm.running_mean", "lstm.weight_ih_l0_reverse".
[[nodiscard]] NamedTensors state_dict(const Module& module);

/// Strict::yes: the names of a state and of the module must be the same.
enum class Strict : std::uint8_t { no, yes };

/// The names that only one side has.
struct LoadResult {
  std::vector<std::string> missing;     ///< in the module only; they keep their values
  std::vector<std::string> unexpected;  ///< in the state only
};

/// Sets every parameter and persistent buffer to a copy of the state's value with its name:
/// `load_state_dict(model, read_safetensors(file).tensors)`. The copies are on their variables' devices.
/// If anything does not fit, changes nothing and throws a ValueError that lists all of it:
/// `[load_state_dict] missing: b; unexpected: bias; given twice: c; weight is f32 (3, 4), not f32 (4, 3)`. With
/// Strict::no, missing and unexpected names are not errors. Changes nothing either if there is no memory for the copies
/// beside the values that they replace; a device without room for both gets them one after the other.
/// Threads: the values change one by one; other threads may read them at the same time.
LoadResult load_state_dict(Module& module, const NamedTensors& state, Strict strict = Strict::yes);

}  // namespace troupe::nn

// The state of a Generator as a tensor, for files.
#pragma once

#include "tensor/generator.h"
#include "tensor/tensor.h"

namespace troupe {

/// Returns seed, stream and position of `generator`, i64 (3), for write_safetensors().
[[nodiscard]] Tensor state_of(const Generator& generator);

/// Returns the generator with a saved state: it continues where the saved one was. Throws ValueError
/// `[generator] not the state of a generator: f32 (2)`.
[[nodiscard]] Generator generator_of(const Tensor& state);

}  // namespace troupe

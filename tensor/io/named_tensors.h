// Tensors with names: what a file of several tensors holds, and the state of a model.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace troupe {

/// Each name occurs once; the order is the writer's.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

}  // namespace troupe

// Tensors with names: the content of a file of several tensors, or the state of a model.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace troupe {

/// Each name occurs once. The order is that of the writer.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

}  // namespace troupe

#include "autograd/nn/embedding.h"

#include <fmt/format.h>

#include "autograd/ops.h"
#include "tensor/create.h"

namespace troupe::nn {

Embedding::Embedding(std::int64_t rows, std::int64_t width, Generator& generator, DType dtype) {
  if (rows < 1 || width < 1) throw ValueError(fmt::format("[Embedding] sizes below 1: {} x {}", rows, width));
  weight_ = add_parameter("weight", randn({rows, width}, generator, dtype));
}

Variable Embedding::forward(const Variable& index) { return embedding(weight_, index.value()); }

}  // namespace troupe::nn

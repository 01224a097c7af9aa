// Table of vectors.
#pragma once

#include <cstdint>

#include "autograd/nn/module.h"
#include "tensor/generator.h"

namespace troupe::nn {

/// Rows of a table by number. Parameter: weight (rows, width), normal with mean 0 and variance 1.
/// forward() may run on several threads at once.
class Embedding final : public Layer {
 public:
  /// Throws ValueError `[Embedding] sizes below 1: 0 x 8`.
  Embedding(std::int64_t rows, std::int64_t width, Generator& generator, DType dtype = DType::f32);

  /// `index` is i64 or i32 of any shape S -> S + (width). Throws IndexError for a row that is not there.
  [[nodiscard]] Variable forward(const Variable& index) override;

  [[nodiscard]] const Variable& weight() const noexcept { return weight_; }

 private:
  Variable weight_;
};

}  // namespace troupe::nn

// Tables of vectors.
#pragma once

#include <cstdint>

#include "autograd/nn/module.h"
#include "autograd/ops/embedding.h"
#include "tensor/generator.h"

namespace troupe::nn {

/// Rows of a table by number. Parameter: weight (rows, width), normal with mean 0 and variance 1, zeros at the padding.
/// forward() may run on several threads at once.
class Embedding final : public Layer {
 public:
  /// Throws ValueError `[Embedding] sizes below 1: 0 x 8`, IndexError `[Embedding] padding index out of range: 5 of 5`.
  Embedding(std::int64_t rows, std::int64_t width, Generator& generator, DType dtype = DType::f32)
      : Embedding(rows, width, generator, EmbeddingOptions{}, dtype) {}
  Embedding(std::int64_t rows, std::int64_t width, Generator& generator, const EmbeddingOptions& options,
            DType dtype = DType::f32);

  /// `index` is i64 or i32 of any shape S -> S + (width). Throws IndexError for a row that is not there.
  [[nodiscard]] Variable forward(const Variable& index) override;

  [[nodiscard]] const Variable& weight() const noexcept { return weight_; }

 private:
  EmbeddingOptions options_;
  Variable weight_;
};

/// Sums, means or largest elements of rows in bags, as embedding_bag(). Parameter: weight (rows, width), as
/// Embedding's. forward() may run on several threads at once.
class EmbeddingBag final : public Module {
 public:
  /// Throws as Embedding, with its own name.
  EmbeddingBag(std::int64_t rows, std::int64_t width, Generator& generator, const EmbeddingBagOptions& options = {},
               DType dtype = DType::f32);

  /// Bags of `index` (n) that begin at `offsets`, or one in each row of `index` (bags, n) -> (bags, width).
  [[nodiscard]] Variable forward(const Tensor& index, const Tensor& offsets = {},
                                 const Variable& per_sample_weights = {});

  [[nodiscard]] const Variable& weight() const noexcept { return weight_; }

 private:
  EmbeddingBagOptions options_;
  Variable weight_;
};

}  // namespace troupe::nn

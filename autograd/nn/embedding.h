// Embedding layers: tables of vectors.
#pragma once

#include <cstdint>

#include "autograd/nn/module.h"
#include "autograd/ops/embedding.h"
#include "tensor/generator.h"

namespace troupe::nn {

/// Looks up rows of a table. Parameter: weight (rows, width), initially normal with mean 0 and variance 1, and zeros in
/// the padding row. forward() is thread-safe.
class Embedding final : public Layer {
 public:
  /// Throws ValueError `[Embedding] sizes below 1: 0 x 8`, IndexError `[Embedding] padding index out of range: 5 of 5`.
  Embedding(std::int64_t rows, std::int64_t width, Generator& generator, DType dtype = DType::f32)
      : Embedding(rows, width, generator, EmbeddingOptions{}, dtype) {}
  Embedding(std::int64_t rows, std::int64_t width, Generator& generator, const EmbeddingOptions& options,
            DType dtype = DType::f32);

  /// `index` is i64 or i32 of any shape S -> S + (width). Throws IndexError for an index out of range.
  [[nodiscard]] Variable forward(const Variable& index) override;

  [[nodiscard]] const Variable& weight() const noexcept { return weight_; }

 private:
  EmbeddingOptions options_;
  Variable weight_;
};

/// Sums, averages or takes the maximum of the rows of each bag, as embedding_bag(). Parameter: weight (rows, width),
/// initialised as Embedding's. forward() is thread-safe.
class EmbeddingBag final : public Module {
 public:
  /// Throws as Embedding, with `[EmbeddingBag]` in the text.
  EmbeddingBag(std::int64_t rows, std::int64_t width, Generator& generator, const EmbeddingBagOptions& options = {},
               DType dtype = DType::f32);

  /// Returns (bags, width) for bags of `index` (n) that begin at `offsets`, or for one bag per row of `index` (bags,
  /// n).
  [[nodiscard]] Variable forward(const Tensor& index, const Tensor& offsets = {},
                                 const Variable& per_sample_weights = {});

  [[nodiscard]] const Variable& weight() const noexcept { return weight_; }

 private:
  EmbeddingBagOptions options_;
  Variable weight_;
};

}  // namespace troupe::nn

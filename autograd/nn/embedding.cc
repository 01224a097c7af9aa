#include "autograd/nn/embedding.h"

#include <fmt/format.h>

#include <optional>

#include "tensor/create.h"
#include "tensor/error.h"

namespace troupe::nn {
namespace {

/// Returns normal values, with zeros in the padding row.
Tensor first_table(const char* name, std::int64_t rows, std::int64_t width, std::optional<std::int64_t> padding,
                   Generator& generator, DType dtype) {
  if (rows < 1 || width < 1) throw ValueError(fmt::format("[{}] sizes below 1: {} x {}", name, rows, width));
  if (padding && (*padding < -rows || *padding >= rows)) {
    throw IndexError(fmt::format("[{}] padding index out of range: {} of {}", name, *padding, rows));
  }
  Tensor table = randn({rows, width}, generator, dtype);
  if (padding) table.select(0, *padding).fill(0.0);
  return table;
}

}  // namespace

Embedding::Embedding(std::int64_t rows, std::int64_t width, Generator& generator, const EmbeddingOptions& options,
                     DType dtype)
    : options_(options),
      weight_(add_parameter("weight", first_table("Embedding", rows, width, options.padding_idx, generator, dtype))) {}

Variable Embedding::forward(const Variable& index) { return embedding(weight_, index.value(), options_); }

EmbeddingBag::EmbeddingBag(std::int64_t rows, std::int64_t width, Generator& generator,
                           const EmbeddingBagOptions& options, DType dtype)
    : options_(options),
      weight_(
          add_parameter("weight", first_table("EmbeddingBag", rows, width, options.padding_idx, generator, dtype))) {}

Variable EmbeddingBag::forward(const Tensor& index, const Tensor& offsets, const Variable& per_sample_weights) {
  return embedding_bag(weight_, index, offsets, options_, per_sample_weights);
}

}  // namespace troupe::nn

// From scores to words to a line of text.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tensor/generator.h"
#include "tensor/tensor.h"

namespace samples {

/// Draws an index with the probabilities softmax(scores), but never `excluded`. Shapes: scores (classes) f32.
[[nodiscard]] std::int64_t draw(const troupe::Tensor& scores, std::int64_t excluded, troupe::Generator& random);

/// The words as one would write them: no space before a full stop or inside parentheses.
[[nodiscard]] std::string written(std::span<const std::string> words);

}  // namespace samples

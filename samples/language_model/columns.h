// A text folded into columns, which a recurrent network reads side by side.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/tensor.h"

namespace samples {

/// Some rows of a folded text, and what follows each token.
struct Rows {
  troupe::Tensor words;  ///< (steps, columns) i64
  troupe::Tensor next;   ///< (steps * columns) i64, row by row
};

/// Cuts `tokens` into `columns` stretches of equal length, and these into pieces of `steps` rows; the last one may have
/// fewer. A column of one piece goes on in the same column of the next, so a network's state carries over. Tokens that
/// fill no row are left out. REQUIRES: at least two tokens for each column.
[[nodiscard]] std::vector<Rows> folded(std::span<const std::int64_t> tokens, std::int64_t columns, std::int64_t steps);

}  // namespace samples

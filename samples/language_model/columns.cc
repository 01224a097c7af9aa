#include "samples/language_model/columns.h"

#include <algorithm>

#include "tensor/create.h"
#include "tensor/ops.h"

namespace samples {

using troupe::Tensor;

std::vector<Rows> folded(std::span<const std::int64_t> tokens, std::int64_t columns, std::int64_t steps) {
  const std::int64_t length = std::ssize(tokens) / columns;
  const std::span used = tokens.first(static_cast<std::size_t>(length * columns));
  const Tensor rows = transpose(troupe::from_values<std::int64_t>(used, {columns, length}), 0, 1);
  std::vector<Rows> pieces;
  for (std::int64_t first = 0; first + 1 < length; first += steps) {
    const std::int64_t end = std::min(first + steps, length - 1);
    pieces.push_back({rows.slice(0, first, end).contiguous(), flatten(rows.slice(0, first + 1, end + 1), 0)});
  }
  return pieces;
}

}  // namespace samples

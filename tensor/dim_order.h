// Lists of dimensions that several operations need.
#pragma once

#include <cstddef>
#include <numeric>
#include <vector>

namespace troupe::detail {

/// 0, 1, ..., rank - 1
[[nodiscard]] inline std::vector<int> all_dims(int rank) {
  std::vector<int> dims(static_cast<std::size_t>(rank));
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

/// For permute: `dim`, counted from the front, comes last; the others keep their order.
[[nodiscard]] inline std::vector<int> dims_with_last(int rank, int dim) {
  std::vector<int> dims = all_dims(rank);
  dims.erase(dims.begin() + dim);
  dims.push_back(dim);
  return dims;
}

/// For permute: undoes permute(dims).
[[nodiscard]] inline std::vector<int> inverse_order(const std::vector<int>& dims) {
  std::vector<int> back(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) back[static_cast<std::size_t>(dims[i])] = static_cast<int>(i);
  return back;
}

}  // namespace troupe::detail

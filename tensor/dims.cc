#include "tensor/dims.h"

#include <numeric>
#include <utility>

namespace troupe {

Axes::Axes(int axis) : axes_{axis} {}

Axes::Axes(std::initializer_list<int> axes) : axes_(axes) {}

Axes::Axes(std::vector<int> axes) : axes_(std::move(axes)) {}

}  // namespace troupe

namespace troupe::detail {

std::vector<int> all_dims(int rank) {
  std::vector<int> dims(static_cast<std::size_t>(rank));
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

std::vector<int> dims_with_last(int rank, int dim) {
  std::vector<int> dims = all_dims(rank);
  dims.erase(dims.begin() + dim);
  dims.push_back(dim);
  return dims;
}

std::vector<int> inverse_order(const std::vector<int>& dims) {
  std::vector<int> back(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) back[static_cast<std::size_t>(dims[i])] = static_cast<int>(i);
  return back;
}

}  // namespace troupe::detail

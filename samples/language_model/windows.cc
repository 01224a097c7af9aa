#include "samples/language_model/windows.h"

#include <vector>

#include "tensor/create.h"
#include "tensor/ops.h"

namespace samples {

using troupe::Tensor;

Windows Windows::at(const Tensor& rows) const { return {index_select(words, 0, rows), index_select(next, 0, rows)}; }

Windows windows_of(std::span<const std::int64_t> tokens, std::int64_t width) {
  const auto count = static_cast<std::int64_t>(tokens.size()) - width;
  std::vector<Tensor> columns;
  const Tensor all = troupe::from_values<std::int64_t>(tokens, {static_cast<std::int64_t>(tokens.size())});
  for (std::int64_t i = 0; i < width; ++i) columns.push_back(all.slice(0, i, i + count));
  return {troupe::stack(columns, 1), all.slice(0, width)};
}

}  // namespace samples

#include "tensor/ops/pad.h"

#include "tensor/decompositions/pad_amounts.h"
#include "tensor/ops/index.h"

namespace troupe {

Tensor pad(const Tensor& x, const std::vector<std::int64_t>& amounts, PadMode mode) {
  const std::vector<detail::PadAmounts> all = detail::pad_amounts(x, amounts);
  if (all.empty()) return x.clone();
  Tensor padded = x;
  for (const auto& [dim, before, after] : all) {
    padded = index_select(padded, dim, detail::padded_places(padded, dim, before, after, mode));
  }
  return padded;
}

}  // namespace troupe

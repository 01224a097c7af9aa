#include "tensor/ops/distance.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "tensor/decompositions/product_plan.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/checks.h"
#include "tensor/ops/matmul.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/rvalue.h"
#include "tensor/ops/shape.h"

namespace troupe {
namespace {

constexpr std::string_view kCdist = "cdist";

// Works on blocks of rows of `a` against all rows of `b`, so that the differences of a block stay in the cache.
Tensor by_differences(const Tensor& a, const Tensor& b, double p) {
  constexpr std::int64_t kTogether = 1 << 16;
  const auto matrices = [](const Tensor& x) { return x.numel() / std::max<std::int64_t>(x.size(-2) * x.size(-1), 1); };
  const std::int64_t for_one = std::max<std::int64_t>(b.size(-2) * b.size(-1) * std::max(matrices(a), matrices(b)), 1);
  const Tensor columns = b.unsqueeze(-3);
  const double exponent = detail::difference_exponent(a.shape(), p);
  std::vector<Tensor> blocks;
  for (const Tensor& rows : split(a, std::max<std::int64_t>(kTogether / for_one, 1), -2)) {
    blocks.push_back(norm(sub(rows.unsqueeze(-2), columns), exponent, -1));
  }
  return blocks.size() == 1 ? blocks.front() : concat(blocks, -2);
}

Tensor by_products(const Tensor& a, const Tensor& b) {
  const Tensor squares = add(sum(mul(a, a), -1, KeepDim::yes), sum(mul(b, b), -1, KeepDim::yes).transpose());
  return sqrt(maximum(sub(squares, mul(matmul(a, b.transpose()), 2.0)), 0.0));
}

}  // namespace

Tensor cdist(const Tensor& a, const Tensor& b, double p) {
  detail::require_together(kCdist, a, b);
  detail::require_rows(a.shape(), b.shape(), p);
  const DType dtype = promote_to_floating(promote(a.dtype(), b.dtype()));
  const Tensor x = a.to(compute_dtype(dtype));
  const Tensor y = b.to(compute_dtype(dtype));
  const bool exact = p != 2.0 || detail::has_few_rows(x.shape(), y.shape());
  return (exact ? by_differences(x, y, p) : by_products(x, y)).to(dtype);
}

}  // namespace troupe

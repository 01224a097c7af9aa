#include "autograd/ops_pool.h"

#include <utility>

#include "autograd/record.h"

namespace troupe {

using detail::edges_of;
using detail::record;
using detail::Saved;

Variable max_pool2d(const Variable& x, const Pool2dOptions& options) {
  const Tensor in = x.value();
  MaxPool2dResult result = max_pool2d(in, options);
  return record("max_pool2d", std::move(result.output), edges_of({&x}),
                [where_max = Saved(std::move(result.where_max)), shape = in.shape(), options](const Tensor& g) {
                  return max_pool2d_backward(g, where_max.get(), shape, options);
                });
}

}  // namespace troupe

#include "tensor/kernels/search.h"

#include "tensor/cuda/launcher.h"
#include "tensor/cuda/search_kernels.h"

namespace troupe::cuda {
namespace {

void search(Tensor& out, const Tensor& sorted, const Tensor& values, Side side) {
  search_with(Launcher(out.device()), out, sorted, values, side);
}

}  // namespace

const kernels::SearchKernels search_kernels{.search = search};

}  // namespace troupe::cuda

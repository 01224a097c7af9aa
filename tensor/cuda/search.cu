#include "tensor/cuda/search.h"

#include "tensor/cuda/launcher.h"
#include "tensor/cuda/search_kernels.h"

namespace troupe::cuda {

void search(Tensor& out, const Tensor& sorted, const Tensor& values, Side side) {
  search_with(Launcher(out.device()), out, sorted, values, side);
}

}  // namespace troupe::cuda

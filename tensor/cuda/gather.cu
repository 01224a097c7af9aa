#include "tensor/kernels/gather.h"

#include "tensor/cuda/gather_kernels.h"
#include "tensor/cuda/launcher.h"
#include "tensor/kernels/indexing.h"

namespace troupe::cuda {
namespace {

void gather(Tensor& out, const Tensor& x, int dim, const Tensor& index) {
  gather_with(Launcher(out.device()), out, x, dim, index);
}

void scatter_add(Tensor& out, int dim, const Tensor& index, const Tensor& x) {
  scatter_add_with(Launcher(out.device()), out, dim, index, x);
}

void scatter(Tensor& out, int dim, const Tensor& index, const Tensor& x) {
  scatter_with(Launcher(out.device()), out, dim, index, x);
}

void take(Tensor& out, const Tensor& x, const Tensor& index) { take_with(Launcher(out.device()), out, x, index); }

void put_add(Tensor& out, const Tensor& x, const Tensor& index) { put_add_with(Launcher(out.device()), out, x, index); }

void pick(Tensor& out, const Tensor& x, const Tensor& index) { pick_with(Launcher(out.device()), out, x, index); }

void place(Tensor& out, const Tensor& x, const Tensor& index) { place_with(Launcher(out.device()), out, x, index); }

bool all_inside(const Tensor& index, std::int64_t size) {
  return all_inside_with(Launcher(index.device()), index, size);
}

}  // namespace

const kernels::GatherKernels gather_kernels{.gather = gather, .scatter_add = scatter_add, .scatter = scatter};
const kernels::IndexKernels index_kernels{
    .take = take, .put_add = put_add, .pick = pick, .place = place, .all_inside = all_inside};

}  // namespace troupe::cuda

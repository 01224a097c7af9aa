#include "tensor/cuda/convert_kernels.h"
#include "tensor/cuda/elementwise_kernels.h"
#include "tensor/cuda/launcher.h"
#include "tensor/kernels/elementwise.h"

namespace troupe::cuda {
namespace {

void compare(CompareOp op, Tensor& out, const Tensor& a, const Tensor& b) {
  compare_with(Launcher(out.device()), op, out, a, b);
}

void select(Tensor& out, const Tensor& condition, const Tensor& a, const Tensor& b) {
  select_with(Launcher(out.device()), out, condition, a, b);
}

void axpby(Tensor& out, double alpha, const Tensor& a, double beta, const Tensor& b) {
  axpby_with(Launcher(out.device()), out, alpha, a, beta, b);
}

void convert(Tensor& out, const Tensor& x) { convert_with(Launcher(out.device()), out, x); }

void fill(Tensor& out, double value) { fill_with(Launcher(out.device()), out, value); }

}  // namespace

const kernels::SelectKernels select_kernels{.compare = compare, .select = select, .axpby = axpby};
const kernels::ConvertKernels convert_kernels{.convert = convert, .fill = fill};

}  // namespace troupe::cuda

#include "tensor/kernels/matmul.h"

#include <mutex>

#include "tensor/cuda/cublas.h"
#include "tensor/cuda/gemm_plan.h"
#include "tensor/cuda/stream.h"

namespace troupe::cuda {
namespace {

cudaDataType data_type(DType dtype) {
  switch (dtype) {
    case DType::f16: return CUDA_R_16F;
    case DType::bf16: return CUDA_R_16BF;
    case DType::f32: return CUDA_R_32F;
    default: return CUDA_R_64F;
  }
}

cublasOperation_t operation(const GemmOperand& operand) { return operand.transposed ? CUBLAS_OP_T : CUBLAS_OP_N; }

void matmul(Tensor& out, const Tensor& x, const Tensor& y) {
  const OnGpu gpu("matmul", out.device().index);
  const Blas& blas = blas_of(out.device().index);
  const bool is_f64 = out.dtype() == DType::f64;
  const double one = 1.0;
  const double zero = 0.0;
  const float one_f32 = 1.0F;
  const float zero_f32 = 0.0F;
  const void* const alpha = is_f64 ? static_cast<const void*>(&one) : &one_f32;
  const void* const beta = is_f64 ? static_cast<const void*>(&zero) : &zero_f32;
  for_each_gemm(out, x, y, [&](const GemmCall& c) {
    // cuBLAS allows one thread at a time per handle.
    const std::lock_guard lock(blas.mutex);
    blas.require_success(
        "matmul",
        blas.functions.gemm(blas.handle, operation(c.left), operation(c.right), c.rows, c.columns, c.inner, alpha,
                            c.left.data.data, data_type(c.left.data.dtype), c.left.leading, c.left.stride,
                            c.right.data.data, data_type(c.right.data.dtype), c.right.leading, c.right.stride, beta,
                            c.out.data.data, data_type(c.out.data.dtype), c.out.leading, c.out.stride, c.batch,
                            is_f64 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  });
}

}  // namespace

const kernels::MatmulKernels matmul_kernels{.matmul = matmul};

}  // namespace troupe::cuda

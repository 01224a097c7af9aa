#include "tensor/cpu/gemm.h"

#include <cblas.h>
#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <string_view>

#include "tensor/error.h"
#include "tensor/kernels/matmul.h"

// Declared here because Debian's <cblas.h> may belong to another BLAS.
extern "C" void openblas_set_num_threads(int count);
extern "C" char* openblas_get_corename();

namespace troupe::cpu {
namespace {

// Up to this many multiplications, oneDNN's 0.5 us per call outweigh its faster kernels. With AVX-512, OpenBLAS has its
// own kernels for small products: they are as fast as oneDNN's up to 64 x 64 x 64.
std::int64_t small_product() {
  static const std::int64_t product = std::string_view(openblas_get_corename()) == "SkylakeX" ? 1 << 18 : 1 << 15;
  return product;
}

// Debian's OpenBLAS has its own threads and one number of threads for the process, which a guard of one thread cannot
// change safely. So it is held at one thread; oneDNN uses the threads of MathThreads.
void hold_openblas_at_one_thread() {
  static std::once_flag once;
  std::call_once(once, [] { openblas_set_num_threads(1); });
}

// An operand in the form of BLAS: row-major, perhaps transposed, with a distance between rows.
struct Operand {
  bool transposed;
  std::int64_t leading;
};

template <class T>
Operand operand(const MatrixRef<T>& m) {
  if (kernels::has_plain_rows(m.rows, m.cols, m.row_stride, m.col_stride)) {
    return {false, m.rows == 1 ? m.cols : m.row_stride};
  }
  return {true, m.cols == 1 ? m.rows : m.col_stride};
}

int to_int(std::int64_t size) {
  if (size > std::numeric_limits<int>::max()) throw ShapeError(fmt::format("[matmul] larger than 2^31 - 1: {}", size));
  return static_cast<int>(size);
}

CBLAS_TRANSPOSE flag(Operand operand) { return operand.transposed ? CblasTrans : CblasNoTrans; }

// c = a * b + beta * c
void multiply(const MatrixRef<float>& c, const MatrixRef<const float>& a, const MatrixRef<const float>& b, float beta) {
  const Operand x = operand(a);
  const Operand y = operand(b);
  const std::int64_t leading = std::max(c.cols, c.row_stride);
  if (c.rows * c.cols * a.cols <= small_product()) {
    hold_openblas_at_one_thread();
    cblas_sgemm(CblasRowMajor, flag(x), flag(y), to_int(c.rows), to_int(c.cols), to_int(a.cols), 1.0F, a.data,
                to_int(x.leading), b.data, to_int(y.leading), beta, c.data, to_int(leading));
    return;
  }
  const dnnl_status_t status = dnnl_sgemm(x.transposed ? 'T' : 'N', y.transposed ? 'T' : 'N', c.rows, c.cols, a.cols,
                                          1.0F, a.data, x.leading, b.data, y.leading, beta, c.data, leading);
  if (status != dnnl_success) throw std::runtime_error(fmt::format("[matmul] oneDNN failed: {}", int{status}));
}

void multiply(const MatrixRef<double>& c, const MatrixRef<const double>& a, const MatrixRef<const double>& b,
              double beta) {
  const Operand x = operand(a);
  const Operand y = operand(b);
  hold_openblas_at_one_thread();
  cblas_dgemm(CblasRowMajor, flag(x), flag(y), to_int(c.rows), to_int(c.cols), to_int(a.cols), 1.0, a.data,
              to_int(x.leading), b.data, to_int(y.leading), beta, c.data, to_int(std::max(c.cols, c.row_stride)));
}

}  // namespace

void gemm(const MatrixRef<float>& c, const MatrixRef<const float>& a, const MatrixRef<const float>& b) {
  multiply(c, a, b, 0.0F);
}
void gemm(const MatrixRef<double>& c, const MatrixRef<const double>& a, const MatrixRef<const double>& b) {
  multiply(c, a, b, 0.0);
}
void gemm_add(const MatrixRef<float>& c, const MatrixRef<const float>& a, const MatrixRef<const float>& b) {
  multiply(c, a, b, 1.0F);
}
void gemm_add(const MatrixRef<double>& c, const MatrixRef<const double>& a, const MatrixRef<const double>& b) {
  multiply(c, a, b, 1.0);
}

}  // namespace troupe::cpu

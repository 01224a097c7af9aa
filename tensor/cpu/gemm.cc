#include "tensor/cpu/gemm.h"

#include <cblas.h>
#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "tensor/cpu/parallel.h"
#include "tensor/cpu/thread_team.h"
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

// Sums in f32 lose digits with their length where a library adds all terms to one number, or to as many as a register
// has: of 10^7 equal terms, 9 %. So it gets at most this many terms of a sum at a time.
constexpr std::int64_t kTermsOfOneSum = 1024;
constexpr std::int64_t kTermsOfSeveralSums = 8192;
// Products of a vector and a matrix with contiguous columns get pieces beyond this length only: they are slower with
// them.
constexpr std::int64_t kShortSum = 1 << 15;

// Products with a vector are computed in blocks of this many elements of the result. OpenBLAS reads 4 rows at once.
constexpr std::int64_t kRowsOfBlock = 4;
constexpr std::int64_t kColumnsOfBlock = 2048;

std::int64_t parts_of(std::int64_t size, std::int64_t part) { return (size + part - 1) / part; }

// How a product of a matrix and a vector is split: each block of rows of the matrix is multiplied in pieces of columns.
struct VectorPlan {
  bool by_rows;  // whether rows are contiguous
  std::int64_t rows;
  std::int64_t terms;
  explicit VectorPlan(const MatrixRef<const float>& m)
      : by_rows(m.rows == 1 || !operand(m).transposed),
        rows(by_rows ? kRowsOfBlock : kColumnsOfBlock),
        terms(by_rows ? kTermsOfSeveralSums : kTermsOfOneSum) {}
  [[nodiscard]] bool splits(std::int64_t cols) const { return cols > (by_rows ? terms : kShortSum); }
};

// out = m * v, where the elements of v are `step` apart.
void multiply_by_vector(float* out, const MatrixRef<const float>& m, const float* v, std::int64_t step) {
  if (m.rows == 1) {
    *out = cblas_sdot(to_int(m.cols), m.data, to_int(m.col_stride), v, to_int(step));
    return;
  }
  const Operand form = operand(m);
  const MatrixRef<const float> stored = form.transposed ? transposed(m) : m;
  cblas_sgemv(CblasRowMajor, flag(form), to_int(stored.rows), to_int(stored.cols), 1.0F, m.data, to_int(form.leading),
              v, to_int(step), 0.0F, out, 1);
}

// c = m * v + beta * c, where c and v are columns. The sums of pieces are added in f64, in the same order on any number
// of threads.
void multiply_by_long_vector(const MatrixRef<float>& c, const MatrixRef<const float>& m,
                             const MatrixRef<const float>& v, const VectorPlan& plan, float beta) {
  hold_openblas_at_one_thread();
  const std::int64_t pieces = parts_of(m.cols, plan.terms);
  const std::int64_t blocks = parts_of(m.rows, plan.rows);
  std::vector<float> parts(static_cast<std::size_t>(pieces * m.rows));
  const std::int64_t multiplications = std::min(m.rows, plan.rows) * plan.terms;
  parallel_for(pieces * blocks, multiplications / kMultiplicationsPerElement,
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   // In the order of memory.
                   const std::int64_t piece = plan.by_rows ? i % pieces : i / blocks;
                   const std::int64_t row = (plan.by_rows ? i / pieces : i % blocks) * plan.rows;
                   const std::int64_t term = piece * plan.terms;
                   const MatrixRef<const float> block{m.data + row * m.row_stride + term * m.col_stride,
                                                      std::min(plan.rows, m.rows - row),
                                                      std::min(plan.terms, m.cols - term), m.row_stride, m.col_stride};
                   multiply_by_vector(&parts[static_cast<std::size_t>(piece * m.rows + row)], block,
                                      v.data + term * v.row_stride, v.row_stride);
                 }
               });
  std::vector<double> sums(static_cast<std::size_t>(m.rows));
  auto part = parts.begin();
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    for (double& sum : sums) sum += static_cast<double>(*part++);
  }
  float* to = c.data;
  for (const double sum : sums) {
    *to = static_cast<float>(beta == 0.0F ? sum : sum + static_cast<double>(beta * *to));
    to += c.row_stride;
  }
}

// c = a * b + beta * c by OpenBLAS.
void multiply_small(const MatrixRef<float>& c, const MatrixRef<const float>& a, const MatrixRef<const float>& b,
                    float beta) {
  const Operand x = operand(a);
  const Operand y = operand(b);
  hold_openblas_at_one_thread();
  cblas_sgemm(CblasRowMajor, flag(x), flag(y), to_int(c.rows), to_int(c.cols), to_int(a.cols), 1.0F, a.data,
              to_int(x.leading), b.data, to_int(y.leading), beta, c.data, to_int(std::max(c.cols, c.row_stride)));
}

// c = a * b + beta * c by oneDNN.
void multiply_large(const MatrixRef<float>& c, const MatrixRef<const float>& a, const MatrixRef<const float>& b,
                    float beta) {
  const Operand x = operand(a);
  const Operand y = operand(b);
  const ThreadTeam team;
  const dnnl_status_t status =
      dnnl_sgemm(x.transposed ? 'T' : 'N', y.transposed ? 'T' : 'N', c.rows, c.cols, a.cols, 1.0F, a.data, x.leading,
                 b.data, y.leading, beta, c.data, std::max(c.cols, c.row_stride));
  if (status != dnnl_success) throw std::runtime_error(fmt::format("[matmul] oneDNN failed: {}", int{status}));
}

// c = a * b + beta * c
void multiply(const MatrixRef<float>& c, const MatrixRef<const float>& a, const MatrixRef<const float>& b, float beta) {
  if (c.cols == 1) {
    if (const VectorPlan plan(a); plan.splits(a.cols)) return multiply_by_long_vector(c, a, b, plan, beta);
  } else if (c.rows == 1) {
    const MatrixRef<const float> m = transposed(b);
    if (const VectorPlan plan(m); plan.splits(m.cols)) {
      return multiply_by_long_vector(transposed(c), m, transposed(a), plan, beta);
    }
  }
  const bool small = c.rows * c.cols * a.cols <= small_product();
  // Up to 8 rows oneDNN computes as inner products where both operands allow it.
  const bool inner = c.rows <= 8 && !operand(a).transposed && operand(b).transposed;
  const std::int64_t most = small ? kTermsOfOneSum : inner ? kTermsOfSeveralSums : a.cols;
  for (std::int64_t term = 0; term < a.cols; term += most) {
    const std::int64_t terms = std::min(most, a.cols - term);
    const MatrixRef<const float> left{a.data + term * a.col_stride, a.rows, terms, a.row_stride, a.col_stride};
    const MatrixRef<const float> right{b.data + term * b.row_stride, terms, b.cols, b.row_stride, b.col_stride};
    (small ? multiply_small : multiply_large)(c, left, right, term == 0 ? beta : 1.0F);
  }
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

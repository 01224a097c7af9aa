#include "tensor/cuda/gemm_plan.h"

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/tensor/expect.h"
#include "tests/tensor/random_values.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_gemm_plan)

namespace {

using cuda::GemmCall;
using cuda::GemmOperand;
using testing::whole_values;

// Element (row, column) of matrix b in column-major order, as in cuBLAS.
double& element(const GemmOperand& m, std::int64_t b, std::int64_t row, std::int64_t column) {
  const std::int64_t at = m.transposed ? row * m.leading + column : column * m.leading + row;
  return reinterpret_cast<double*>(m.data.data)[b * m.stride + at];
}

// Computes what cuBLAS computes for a call.
void multiply(const GemmCall& call) {
  BOOST_TEST(call.left.leading >= (call.left.transposed ? call.inner : call.rows));
  BOOST_TEST(call.right.leading >= (call.right.transposed ? call.columns : call.inner));
  for (std::int64_t b = 0; b < call.batch; ++b) {
    for (std::int64_t i = 0; i < call.rows; ++i) {
      for (std::int64_t j = 0; j < call.columns; ++j) {
        double sum = 0.0;
        for (std::int64_t k = 0; k < call.inner; ++k) sum += element(call.left, b, i, k) * element(call.right, b, k, j);
        element(call.out, b, i, j) = sum;
      }
    }
  }
}

int expect_product(const Tensor& x, const Tensor& y) {
  const Tensor expected = matmul(x, y);
  Tensor out = Tensor::empty(expected.shape(), DType::f64);
  int calls = 0;
  cuda::for_each_gemm(out, x, y, [&](const GemmCall& call) {
    ++calls;
    multiply(call);
  });
  expect_same(out, expected);  // whole numbers: exact in any order
  return calls;
}

}  // namespace

BOOST_AUTO_TEST_CASE(calls_multiply_matrices_of_every_layout) {
  for (const auto& [m, k, n] : {std::array<std::int64_t, 3>{3, 4, 5}, {1, 4, 5}, {3, 1, 5}, {3, 4, 1}, {1, 1, 1}}) {
    const Tensor x = whole_values({m, k}, DType::f64);
    const Tensor y = whole_values({k, n}, DType::f64);
    const Tensor xt = x.transpose().clone().transpose();
    const Tensor yt = y.transpose().clone().transpose();
    for (const Tensor& a : {x, xt}) {
      for (const Tensor& b : {y, yt}) BOOST_TEST(expect_product(a, b) == 1);
    }
    const Tensor wide = whole_values({m, k + 3}, DType::f64);
    BOOST_TEST(expect_product(wide.slice(1, 1, k + 1), y) == 1);
  }
}

BOOST_AUTO_TEST_CASE(a_batch_is_one_call_where_its_matrices_are_evenly_apart) {
  BOOST_TEST(expect_product(whole_values({6, 3, 4}, DType::f64), whole_values({6, 4, 2}, DType::f64)) == 1);
  BOOST_TEST(expect_product(whole_values({2, 3, 3, 4}, DType::f64), whole_values({2, 3, 4, 2}, DType::f64)) == 1);
  BOOST_TEST(expect_product(whole_values({6, 3, 4}, DType::f64), whole_values({4, 2}, DType::f64).expand({6, 4, 2})) ==
             1);
  BOOST_TEST(expect_product(whole_values({6, 4, 3}, DType::f64).transpose(), whole_values({6, 4, 2}, DType::f64)) == 1);
  // One call for each of the two matrices that the second operand does not repeat.
  BOOST_TEST(expect_product(whole_values({2, 3, 3, 4}, DType::f64),
                            whole_values({2, 1, 4, 2}, DType::f64).expand({2, 3, 4, 2})) == 2);
  BOOST_TEST(expect_product(whole_values({3, 2, 3, 4}, DType::f64).permute({1, 0, 2, 3}),
                            whole_values({2, 3, 4, 2}, DType::f64)) == 2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe

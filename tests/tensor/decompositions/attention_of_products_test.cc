// Compares attention composed of matrix products with the CPU kernels.
#include "tensor/decompositions/attention_of_products.h"

#include <vector>

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/tensor/expect.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(attention_of_products)

namespace {

Tensor values(const Shape& shape, DType dtype, std::uint64_t seed) {
  Generator generator(seed);
  return uniform(shape, -2.0, 3.0, generator, dtype);
}

/// Returns scores (2, 6, 7): plain, with a boolean mask, with an added mask, with scores far from 0, causal, with
/// dropout.
std::vector<kernels::AttentionScores> all_kinds(DType dtype) {
  Tensor shown = gt(values({2, 6, 7}, DType::f32, 8), 0.0);
  shown.slice(2, 0, 1).fill(1.0);  // every query keeps at least one key
  const kernels::WeightDropout dropout{Generator(5), std::uint64_t{1} << 30U, 1.0 / 0.75};
  return {{0.5, false, {}, {}},
          {0.5, false, shown, {}},
          {0.5, false, values({2, 6, 7}, dtype, 9), {}},
          {0.5, false, full({2, 6, 7}, -1e9, dtype), {}},
          {0.5, true, shown, {}},
          {0.5, true, {}, dropout}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(values_and_gradients_are_close_to_the_kernels) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const double tolerance = dtype == DType::f64 ? 1e-13 : 2e-5;
    const Tensor query = values({2, 6, 4}, dtype, 1);
    const Tensor key = values({2, 7, 4}, dtype, 2);
    const Tensor value = values({2, 7, 3}, dtype, 3);
    const Tensor grad = values({2, 6, 3}, dtype, 4);
    for (const kernels::AttentionScores& how : all_kinds(dtype)) {
      Tensor got = zeros({2, 6, 3}, dtype);
      Tensor expected = zeros({2, 6, 3}, dtype);
      Tensor got_sums = zeros({2, 6, 2}, dtype);
      Tensor sums = zeros({2, 6, 2}, dtype);
      detail::attention_of_products(got, got_sums, query, key, value, how);
      cpu::attention_kernels.attention(expected, sums, query, key, value, how);
      expect_close(got, expected, tolerance, tolerance);
      expect_close(got_sums, sums, tolerance, tolerance);
      const kernels::AttentionForward forward{query, key, value, expected, sums};
      const auto nothing = [&] {
        return kernels::AttentionGradients{zeros_like(query), zeros_like(key), zeros_like(value), zeros({1, 7}, dtype)};
      };
      kernels::AttentionGradients by = nothing();
      kernels::AttentionGradients expected_by = nothing();
      detail::attention_of_products_backward(by, grad, forward, how);
      cpu::attention_kernels.attention_backward(expected_by, grad, forward, how);
      expect_close(by.query, expected_by.query, 4 * tolerance, 4 * tolerance);
      expect_close(by.key, expected_by.key, 4 * tolerance, 4 * tolerance);
      expect_close(by.value, expected_by.value, 4 * tolerance, 4 * tolerance);
      expect_close(by.mask, expected_by.mask, 8 * tolerance, 8 * tolerance);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe

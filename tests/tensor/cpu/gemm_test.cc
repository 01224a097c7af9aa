#include "tensor/cpu/gemm.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tensor/math_threads.h"

namespace troupe::cpu {
BOOST_AUTO_TEST_SUITE(cpu_gemm)

namespace {

enum class Order : std::uint8_t { rows, columns };

/// A matrix with memory. Between two rows or columns lie `gap` elements that do not belong to it.
struct Matrix {
  std::vector<float> memory;
  MatrixRef<const float> ref;

  Matrix(std::int64_t rows, std::int64_t cols, Order order, std::int64_t gap, float value) {
    const std::int64_t step = (order == Order::rows ? cols : rows) + gap;
    memory.assign(static_cast<std::size_t>(step * (order == Order::rows ? rows : cols)), -1e30F);
    ref = {memory.data(), rows, cols, order == Order::rows ? step : 1, order == Order::rows ? 1 : step};
    for (std::int64_t i = 0; i < rows; ++i) {
      // The columns have the factors 1, 2, 3, 1, 2, 3, ...
      for (std::int64_t j = 0; j < cols; ++j) {
        memory[static_cast<std::size_t>(i * ref.row_stride + j * ref.col_stride)] =
            value * static_cast<float>(1 + j % 3);
      }
    }
  }
};

/// 0.1 (1 + 2 + 3 + 1 + ...) for `terms` terms.
double sum_of(std::int64_t terms) {
  const double whole = static_cast<double>(terms / 3) * 6.0;
  const double rest = terms % 3 == 0 ? 0.0 : terms % 3 == 1 ? 1.0 : 3.0;
  return static_cast<double>(0.1F) * (whole + rest);
}

/// Checks all layouts of (rows x terms) times (terms x cols): each element of the result in relation to its value.
void expect_accurate(std::int64_t rows, std::int64_t terms, std::int64_t cols, double tolerance) {
  for (const Order left : {Order::rows, Order::columns}) {
    for (const Order right : {Order::rows, Order::columns}) {
      const Matrix a(rows, terms, left, 2, 0.1F);
      const Matrix b(terms, cols, right, 1, 1.0F);
      const std::int64_t step = cols + 1;
      std::vector<float> c(static_cast<std::size_t>(rows * step), 7.0F);
      const MatrixRef<float> to{c.data(), rows, cols, step, 1};
      const auto expect = [&](double added) {
        double worst = 0.0;
        for (std::int64_t i = 0; i < rows; ++i) {
          for (std::int64_t j = 0; j < cols; ++j) {
            const double expected = sum_of(terms) * static_cast<double>(1 + j % 3) * added;
            worst = std::max(worst,
                             std::abs(static_cast<double>(c[static_cast<std::size_t>(i * step + j)]) / expected - 1.0));
          }
          BOOST_TEST(c[static_cast<std::size_t>(i * step + cols)] == 7.0F);
        }
        BOOST_TEST(worst <= tolerance, rows << " x " << terms << " x " << cols << " is off by " << worst);
      };
      gemm(to, a.ref, b.ref);
      expect(1.0);
      gemm_add(to, a.ref, b.ref);
      expect(2.0);
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(products_with_a_long_vector_keep_their_digits) {
  // Up to 8192 terms are added in f32 in 16 sums, or 1024 in one: 512 or 1024 roundings of 2^-24 of at most the sum,
  // all in one direction at worst.
  for (const std::int64_t terms : {1024, 1025, 8193, 300001}) {
    expect_accurate(1, terms, 1, 4e-5);
    for (const std::int64_t size : {2, 5}) {
      expect_accurate(size, terms, 1, 6e-5);
      expect_accurate(1, terms, size, 6e-5);
    }
  }
  expect_accurate(4099, 2050, 1, 6e-5);
  expect_accurate(1, 2050, 4099, 6e-5);
}

BOOST_AUTO_TEST_CASE(products_of_few_rows_keep_their_digits) {
  for (const std::int64_t terms : {1025, 8193, 60000, 300001}) {
    expect_accurate(2, terms, 2, 6e-5);
    expect_accurate(8, terms, 3, 6e-5);
  }
}

BOOST_AUTO_TEST_CASE(a_product_with_a_long_vector_is_the_same_on_any_number_of_threads) {
  for (const Order order : {Order::rows, Order::columns}) {
    const Matrix m(37, 50000, order, 0, 0.1F);
    const Matrix v(50000, 1, Order::rows, 0, 0.3F);
    const auto product = [&](int threads) {
      const MathThreads guard(threads);
      std::vector<float> out(37);
      gemm({out.data(), 37, 1, 1, 1}, m.ref, v.ref);
      return out;
    };
    BOOST_CHECK(product(1) == product(2));
    BOOST_CHECK(product(1) == product(5));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::cpu

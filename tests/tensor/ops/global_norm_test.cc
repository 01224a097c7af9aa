#include "tensor/ops/global_norm.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/math_threads.h"
#include "tensor/ops.h"
#include "tensor/sampling.h"
#include "tests/support/expect_throw.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(norm_of_several)

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double norm_of(std::initializer_list<double> values, double p = 2.0) {
  const std::vector<Tensor> xs{from_values<double>(values)};
  return global_norm(xs, p);
}

}  // namespace

BOOST_AUTO_TEST_CASE(all_elements_of_all_tensors_count_as_one_vector) {
  const std::vector<Tensor> xs{from_values<float>({1.0F, -2.0F}), from_values<double>({2.0, 4.0, -10.0}, {3, 1}),
                               full({}, 10.0, DType::bf16)};
  BOOST_TEST(global_norm(xs) == 15.0);             // sqrt(1 + 4 + 4 + 16 + 100 + 100)
  BOOST_TEST(global_norm(xs, 1.0) == 29.0);        // 1 + 2 + 2 + 4 + 10 + 10
  BOOST_TEST(global_norm(xs, kInfinity) == 10.0);  // the largest
  BOOST_TEST(norm_of({3.0, -4.0, 5.0}, 3.0) == 6.0, boost::test_tools::tolerance(1e-15));  // 27 + 64 + 125 = 216
}

BOOST_AUTO_TEST_CASE(nothing_has_a_norm_of_0) {
  BOOST_TEST(global_norm({}) == 0.0);
  const std::vector<Tensor> xs{empty({0, 3}), empty({0}, DType::f16)};
  BOOST_TEST(global_norm(xs) == 0.0);
  BOOST_TEST(global_norm(xs, kInfinity) == 0.0);
}

BOOST_AUTO_TEST_CASE(large_tensors_are_summed_in_f64) {
  // 3 * 2^26 ones: a sum in f32 would stay at 2^24
  const std::vector<Tensor> ones_of{ones({std::int64_t{3} << 20}), ones({(std::int64_t{1} << 20) + 5}, DType::f16)};
  BOOST_TEST(global_norm(ones_of, 1.0) == 4.0 * (1 << 20) + 5);
  const std::vector<Tensor> large{full({20000}, 60000.0, DType::f16)};
  BOOST_TEST(global_norm(large) == 60000.0 * std::sqrt(20000.0), boost::test_tools::tolerance(1e-15));
}

BOOST_AUTO_TEST_CASE(each_element_counts_once_wherever_it_stands) {
  for (const std::int64_t size : {1, 15, 16, 17, 255, 256, 257, 8191, 8192, 8193, 20000}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      Tensor x = zeros({size}, dtype);
      x.slice(0, size - 1, size).fill(-3.0);
      x.slice(0, size / 2, size / 2 + 1).fill(4.0);
      const std::vector<Tensor> xs{x};
      BOOST_TEST(global_norm(xs) == (size == 1 ? 4.0 : 5.0));
      BOOST_TEST(global_norm(xs, kInfinity) == 4.0);
    }
  }
}

// So the sums of several nodes add up to that of all tensors, to the bit.
BOOST_AUTO_TEST_CASE(squares_of_several_tensors_are_the_sum_of_those_of_each) {
  Generator generator(3);
  std::vector<Tensor> xs;
  double total = 0.0;
  for (const std::int64_t size : {5, 40000, 100000, 1}) {
    xs.push_back(randn({size}, generator));
    total += sum_of_squares({&xs.back(), 1});
  }
  BOOST_TEST(sum_of_squares(xs) == total);
  BOOST_TEST(global_norm(xs) == std::sqrt(total));
  BOOST_TEST(sum_of_squares({}) == 0.0);
}

BOOST_AUTO_TEST_CASE(neither_threads_nor_layout_change_a_bit) {
  Generator generator(6);
  const Tensor x = randn({300, 701}, generator);
  const std::vector<Tensor> plain{x, x.slice(1, 0, 3).contiguous()};
  const std::vector<Tensor> strided{x.transpose().contiguous().transpose(), x.slice(1, 0, 3)};
  for (const double p : {1.0, 2.0, 2.5, kInfinity}) {
    const double alone = global_norm(plain, p);
    BOOST_TEST(global_norm(strided, p) == alone);
    const MathThreads threads(3);
    BOOST_TEST(global_norm(plain, p) == alone);
  }
}

BOOST_AUTO_TEST_CASE(what_is_not_finite_shows) {
  for (const double p : {1.0, 2.0, 3.0, kInfinity}) {
    BOOST_TEST(norm_of({1.0, -kInfinity, 2.0}, p) == kInfinity);
    BOOST_TEST(std::isnan(norm_of({1.0, kNaN, 2.0}, p)));
    BOOST_TEST(std::isnan(norm_of({1.0, kInfinity, kNaN, 2.0}, p)));
  }
}

BOOST_AUTO_TEST_CASE(what_makes_no_sense_is_refused) {
  expect_throw<ValueError>([] { norm_of({1.0}, 0.0); }, "[global_norm] p not above 0: 0");
  expect_throw<ValueError>([] { norm_of({1.0}, kNaN); }, "[global_norm] p not above 0: nan");
  const auto of = [](const Tensor& x) { return [x] { static_cast<void>(global_norm(std::vector<Tensor>{x})); }; };
  expect_throw<DTypeError>(of(arange(3)), "[global_norm] needs a floating dtype: i64");
  expect_throw<TensorError>(of(Tensor()), "[global_norm] tensor is undefined");
}

BOOST_AUTO_TEST_SUITE_END()

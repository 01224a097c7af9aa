#include "tensor/ops/exponential.h"

#include <cmath>
#include <limits>

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(ops_exponential)

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

using Function = Tensor (*)(const Tensor&);
using OfTwo = Tensor (*)(const Tensor&, const Tensor&);

}  // namespace

BOOST_AUTO_TEST_CASE(powers_and_logarithms_of_2_and_10_are_whole) {
  expect_same(exp2(from_values<double>({0, 3, -1, -1074, 1024})), from_values<double>({1, 8, 0.5, 0x1p-1074, kInf}));
  expect_same(log2(from_values<double>({1, 8, 0.5, 0})), from_values<double>({0, 3, -1, -kInf}));
  expect_same(log10(from_values<double>({1, 1000, 0.01, 0})), from_values<double>({0, 3, -2, -kInf}));
  expect_close(exp2(from_values<double>({0.5})), from_values<double>({std::sqrt(2.0)}), 1e-15);
  expect_same(exp2(from_values<std::int64_t>({3, -1})), from_values<float>({8, 0.5}));
  expect_same(log2(from_values<bool>({true})), from_values<float>({0}));
  BOOST_CHECK(
      all(isnan(concat({log2(full({1}, -1.0)), log10(full({1}, -1.0)), exp2(full({1}, std::nan("")))}))).item<bool>());
}

BOOST_AUTO_TEST_CASE(log1p_is_finite_for_every_finite_number) {
  constexpr float kInfF = std::numeric_limits<float>::infinity();
  // 38 log 10 + log 2, log(2^128), 18 log 10, log 2
  expect_close(log1p(from_values<float>({2e38F, std::numeric_limits<float>::max(), 1e18F, 1, kInfF})),
               from_values<float>({88.191390F, 88.722839F, 41.446532F, 0.6931472F, kInfF}), 2e-7);
  expect_close(log1p(from_values<double>({1e308, std::numeric_limits<double>::max(), 1e150, 1e-300, kInf})),
               from_values<double>({709.1962086421661, 709.782712893384, 345.3877639491069, 1e-300, kInf}), 3e-16);
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor outside = from_values<double>({-2e38, -2, -kInf, std::nan("")}).to(dtype);
    BOOST_CHECK(all(isnan(log1p(outside))).item<bool>());
    expect_same(log1p(from_values<double>({-1, 2e38}).to(dtype)).select(0, 0), full({}, -kInf, dtype));
  }
}

BOOST_AUTO_TEST_CASE(logit_is_the_inverse_of_sigmoid) {
  const double log3 = 1.0986122886681098;
  expect_close(logit(from_values<double>({0.5, 0.75, 0.25})), from_values<double>({0, log3, -log3}),
               1e-15);  // log(3/4 / (1/4))
  expect_same(logit(from_values<double>({0, 1})), from_values<double>({-kInf, kInf}));
  expect_same(isnan(logit(from_values<float>({-0.1F, 1.1F, 0.3F}))), from_values<bool>({true, true, false}));
  expect_same(logit(from_values<std::int64_t>({0, 1})),
              from_values<float>({-std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity()}));
  const Tensor x = from_values<double>({-3, -0.25, 0, 2});
  expect_close(logit(sigmoid(x)), x, 1e-14);
}

BOOST_AUTO_TEST_CASE(logit_with_eps_is_limited) {
  const double log3 = 1.0986122886681098;
  expect_close(logit(from_values<double>({-1, 0, 0.5, 1, 7}), 0.25), from_values<double>({-log3, -log3, 0, log3, log3}),
               1e-15);
  expect_same(logit(from_values<double>({0.2}), 0.0), logit(from_values<double>({0.2})));
  // In f16, 1 - 1e-6 would round to 1 and the result would be infinite.
  expect_same(logit(from_values<Half>({Half(1)}), 1e-6), logit(from_values<float>({1}), 1e-6).to(DType::f16));
  BOOST_CHECK(isnan(logit(full({}, std::nan("")), 0.1)).item<bool>());
  for (const double eps : {0.7, -0.1}) {
    const std::string text = eps > 0 ? "[logit] eps not from 0 to 0.5: 0.7" : "[logit] eps not from 0 to 0.5: -0.1";
    expect_error<ValueError>(text, [eps] { (void)logit(zeros({1}), eps); });
  }
  expect_error<TensorError>("[logit] tensor is undefined", [] { (void)logit(Tensor(), 0.1); });
}

BOOST_AUTO_TEST_CASE(exponentials_are_added_without_overflow) {
  const Tensor a = from_values<double>({0, 1000, -1000, kInf, -kInf, -kInf, 1});
  const Tensor b = from_values<double>({0, 1000, 1000, 1, -kInf, 3, std::nan("")});
  const Tensor sums = logaddexp(a, b);
  const double ln2 = 0.6931471805599453;
  expect_close(sums.slice(0, 0, 3), from_values<double>({ln2, 1000 + ln2, 1000}), 1e-15);
  expect_same(sums.slice(0, 3, 6), from_values<double>({kInf, -kInf, 3}));
  BOOST_CHECK(std::isnan(sums.data<double>()[6]));
  BOOST_CHECK(isnan(logaddexp(scalar(std::nan("")), scalar(-kInf))).item<bool>());
  expect_same(logaddexp(b.slice(0, 0, 6), a.slice(0, 0, 6)), sums.slice(0, 0, 6));
  expect_close(logaddexp(from_values<std::int64_t>({0}), from_values<std::int64_t>({0})),
               from_values<float>({0.6931472F}), 1e-7);
  BOOST_CHECK_EQUAL(logaddexp(zeros({2, 1}), zeros({0})).shape(), (Shape{2, 0}));
  expect_error<ShapeError>("[logaddexp] shapes do not broadcast: (2) and (3)",
                           [] { (void)logaddexp(zeros({2}), zeros({3})); });
}

BOOST_AUTO_TEST_CASE(nothing_times_any_logarithm_is_nothing) {
  const double ln2 = 0.6931471805599453;
  const Tensor a = from_values<double>({3, 0, 0, 0, 2});
  const Tensor b = from_values<double>({2, 0, -1, kInf, 0});
  expect_close(xlogy(a, b), from_values<double>({3 * ln2, 0, 0, 0, -kInf}), 1e-15);
  BOOST_CHECK(all(isnan(xlogy(from_values<double>({0, 1}), from_values<double>({std::nan(""), -1})))).item<bool>());
  expect_close(xlogy(from_values<double>({3, 0}), 2.0), from_values<double>({3 * ln2, 0}), 1e-15);
  expect_same(xlogy(0.0, b), zeros({5}, DType::f64));
  expect_close(xlogy(2.0, from_values<double>({2})), from_values<double>({2 * ln2}), 1e-15);
  expect_same(xlogy(from_values<std::int64_t>({0, 5}), from_values<std::int64_t>({0, 1})), from_values<float>({0, 0}));
  BOOST_CHECK_EQUAL(xlogy(zeros({2, 1}), ones({3})).shape(), (Shape{2, 3}));
  expect_error<ShapeError>("[xlogy] shapes do not broadcast: (2) and (3)", [] { (void)xlogy(zeros({2}), zeros({3})); });
  expect_error<TensorError>("[xlogy] tensor is undefined", [] { (void)xlogy(2.0, Tensor()); });
}

BOOST_AUTO_TEST_CASE(pairs_of_every_layout_go_the_same_way) {
  Generator g(3);
  const Tensor x = uniform({3, 301}, 0.1, 9.0, g);
  const Tensor y = uniform({3, 301}, 0.1, 9.0, g);
  for (Tensor (*f)(const Tensor&, const Tensor&) : {OfTwo(logaddexp), OfTwo(xlogy)}) {
    expect_same(f(x.transpose(), y.transpose()).transpose().contiguous(), f(x, y));
    expect_same(f(x.slice(1, 3, 300, 7), y.slice(1, 3, 300, 7)), f(x, y).slice(1, 3, 300, 7).contiguous());
    expect_rounded([f](const Tensor& a, const Tensor& b) { return f(a, b); }, x, y);
  }
}

BOOST_AUTO_TEST_CASE(every_layout_and_dtype_goes_the_same_way) {
  Generator g(3);
  const Tensor x = uniform({3, 301}, 0.1, 0.9, g);
  const auto with_eps = [](const Tensor& a) { return logit(a, 0.2); };
  for (Tensor (*f)(const Tensor&) :
       {Function(exp2), Function(log2), Function(log10), Function(logit), Function(with_eps)}) {
    expect_same(f(x.transpose()).transpose().contiguous(), f(x));
    expect_same(f(x.slice(1, 3, 300, 7)), f(x).slice(1, 3, 300, 7).contiguous());
    expect_rounded([f](const Tensor& a) { return f(a); }, x.transpose());
    BOOST_CHECK_EQUAL(f(zeros({0, 3})).shape(), (Shape{0, 3}));
    BOOST_CHECK_EQUAL(f(ones({})).dim(), 0);
  }
  expect_error<TensorError>("[log10] tensor is undefined", [] { (void)log10(Tensor()); });
}

BOOST_AUTO_TEST_SUITE_END()

#include "tensor/ops/trigonometry.h"

#include <cmath>
#include <initializer_list>
#include <limits>
#include <numbers>

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(ops_trigonometry)

namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kInf = std::numeric_limits<double>::infinity();

using Function = Tensor (*)(const Tensor&);
using OfTwo = Tensor (*)(const Tensor&, const Tensor&);
constexpr Function kAll[] = {sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, asinh, acosh, atanh};

}  // namespace

BOOST_AUTO_TEST_CASE(angles_have_their_known_ratios) {
  const Tensor x = from_values<double>({0, kPi / 6, kPi / 4, kPi / 3});
  const double root2 = std::sqrt(2.0);
  const double root3 = std::sqrt(3.0);
  expect_close(sin(x), from_values<double>({0, 0.5, root2 / 2, root3 / 2}), 1e-15);
  expect_close(cos(x), from_values<double>({1, root3 / 2, root2 / 2, 0.5}), 1e-15);
  expect_close(tan(x), from_values<double>({0, root3 / 3, 1, root3}), 1e-15);
}

BOOST_AUTO_TEST_CASE(inverses_give_the_angle_in_their_range) {
  const Tensor x = from_values<double>({-1, -0.5, 0, 1});
  expect_close(asin(x), from_values<double>({-kPi / 2, -kPi / 6, 0, kPi / 2}), 1e-15);
  expect_close(acos(x), from_values<double>({kPi, 2 * kPi / 3, kPi / 2, 0}), 1e-15, 1e-16);
  expect_close(atan(from_values<double>({-kInf, -1, 0, std::sqrt(3.0)})),
               from_values<double>({-kPi / 2, -kPi / 4, 0, kPi / 3}), 1e-15);
}

BOOST_AUTO_TEST_CASE(hyperbolic_functions_and_their_inverses_give_the_hand_values) {
  const Tensor x = from_values<double>({0, std::numbers::ln2});  // exp: 1, 2
  expect_close(sinh(x), from_values<double>({0, 0.75}), 1e-15);  // (2 - 1/2) / 2
  expect_close(cosh(x), from_values<double>({1, 1.25}), 1e-15);  // (2 + 1/2) / 2
  expect_close(tanh(x), from_values<double>({0, 0.6}), 1e-15);
  expect_close(asinh(from_values<double>({0, 0.75})), x, 1e-15);
  expect_close(acosh(from_values<double>({1, 1.25})), x, 1e-15);
  expect_close(atanh(from_values<double>({0, 0.6})), x, 1e-15);
  expect_same(atanh(from_values<double>({-1, 1})), from_values<double>({-kInf, kInf}));
}

BOOST_AUTO_TEST_CASE(values_outside_the_domain_are_nan) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor outside = full({3}, 1.5, dtype);
    for (const Function f : std::initializer_list<Function>{asin, acos, atanh})
      BOOST_CHECK(all(isnan(f(outside))).item<bool>());
    for (const double x : {0.5, -1.5, -1e30, -kInf}) BOOST_CHECK(all(isnan(acosh(full({3}, x, dtype)))).item<bool>());
    for (const Function f : kAll) BOOST_CHECK(all(isnan(f(full({3}, std::nan(""), dtype)))).item<bool>());
  }
}

// In f32, exp(x) overflows beyond 88, the square of x beyond 2e19.
BOOST_AUTO_TEST_CASE(hyperbolic_functions_are_finite_as_long_as_the_result_is) {
  const Tensor x = from_values<float>({89, -89, 0.5F, 88.0F, 90});
  const auto inf = std::numeric_limits<float>::infinity();
  expect_close(sinh(x), from_values<float>({2.2448064e38F, -2.2448064e38F, 0.5210953F, 8.2581813e37F, inf}),
               3e-7);  // 2 units of 2^-23
  expect_close(cosh(x), from_values<float>({2.2448064e38F, 2.2448064e38F, 1.127626F, 8.2581813e37F, inf}), 3e-7);
  const Tensor large = from_values<float>({1e30F, -1e30F, 1, 1e19F, -inf});
  expect_close(asinh(large), from_values<float>({69.77070F, -69.77070F, 0.8813736F, 44.442265F, -inf}),
               2e-7);  // 30 log 10 + log 2
  expect_close(acosh(abs(large)), from_values<float>({69.77070F, 69.77070F, 0, 44.442265F, inf}), 2e-7);
  const Tensor wide = from_values<double>({710.25, -710.25});
  const double half = std::sinh(710.25);
  expect_close(sinh(wide), from_values<double>({half, -half}), 5e-16);
  expect_close(cosh(wide), from_values<double>({half, half}), 5e-16);
  expect_close(asinh(from_values<double>({1e200, -1e300})),
               from_values<double>({461.2101657793691, -691.4686750787736}), 3e-16);
  expect_close(acosh(from_values<double>({1e200, 1e300})), from_values<double>({461.2101657793691, 691.4686750787736}),
               3e-16);
}

BOOST_AUTO_TEST_CASE(points_have_an_angle_and_a_distance) {
  const Tensor y = from_values<double>({0, 1, 1, -3, 0, -0.0});
  const Tensor x = from_values<double>({1, 0, -1, 4, -2, -2});
  expect_close(atan2(y, x), from_values<double>({0, kPi / 2, 3 * kPi / 4, -0.6435011087932844, kPi, -kPi}), 1e-15);
  expect_close(hypot(y, x), from_values<double>({1, 1, std::sqrt(2.0), 5, 2, 2}), 1e-15);
  expect_same(hypot(from_values<float>({3e38F, 3e-44F}), from_values<float>({0, 4e-44F})),
              from_values<float>({3e38F, 5e-44F}));
  expect_close(hypot(from_values<float>({1e38F}), from_values<float>({-1e38F})), from_values<float>({1.4142135e38F}),
               1e-7);
  expect_same(hypot(from_values<std::int64_t>({3}), from_values<std::int32_t>({4})), from_values<float>({5}));
  expect_same(atan2(zeros({2, 1}), ones({3})), zeros({2, 3}));
  expect_same(hypot(scalar(3.0), scalar(-4.0)), scalar(5.0));
  BOOST_CHECK_EQUAL(hypot(zeros({0, 3}), ones({3})).shape(), (Shape{0, 3}));
  BOOST_CHECK(isnan(atan2(scalar(std::nan("")), scalar(1.0))).item<bool>());
  expect_error<ShapeError>("[atan2] shapes do not broadcast: (2) and (3)", [] { (void)atan2(zeros({2}), zeros({3})); });
  expect_error<TensorError>("[hypot] tensor is undefined", [] { (void)hypot(zeros({2}), Tensor()); });
  Generator g(3);
  const Tensor a = uniform({3, 301}, -9.0, 9.0, g);
  const Tensor b = uniform({3, 301}, -9.0, 9.0, g);
  for (const OfTwo f : std::initializer_list<OfTwo>{atan2, hypot}) {
    expect_same(f(a.transpose(), b.transpose()).transpose().contiguous(), f(a, b));
    expect_same(f(a.slice(1, 3, 300, 7), b.slice(1, 3, 300, 7)), f(a, b).slice(1, 3, 300, 7).contiguous());
    expect_rounded([f](const Tensor& p, const Tensor& q) { return f(p, q); }, a, b);
  }
}

BOOST_AUTO_TEST_CASE(every_layout_and_dtype_goes_the_same_way) {
  Generator g(3);
  const Tensor x = uniform({3, 301}, -0.9, 0.9, g);
  for (const Function f : kAll) {
    const Tensor of_x = f(x + (f == Function(acosh) ? 2.0 : 0.0));
    const Tensor in = f == Function(acosh) ? x + 2.0 : x;
    expect_same(f(in.transpose()).transpose().contiguous(), of_x);
    expect_same(f(in.slice(1, 3, 300, 7)), of_x.slice(1, 3, 300, 7).contiguous());
    expect_rounded([f](const Tensor& a) { return f(a); }, in.transpose());
    expect_same(f(from_values<std::int64_t>({1})), f(from_values<float>({1})));
    expect_same(f(from_values<bool>({true})), f(from_values<float>({1})));
    BOOST_CHECK_EQUAL(f(zeros({0, 3})).shape(), (Shape{0, 3}));
    BOOST_CHECK_EQUAL(f(ones({})).dim(), 0);
  }
  expect_error<TensorError>("[asinh] tensor is undefined", [] { (void)asinh(Tensor()); });
  expect_error<TensorError>("[tan] tensor is undefined", [] { (void)tan(Tensor()); });
}

BOOST_AUTO_TEST_SUITE_END()

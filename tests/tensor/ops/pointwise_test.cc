#include "tensor/ops/pointwise.h"

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(ops_pointwise)

BOOST_AUTO_TEST_CASE(lerp_goes_from_one_to_the_other) {
  const Tensor a = from_values<float>({0, 10});
  const Tensor b = from_values<float>({8, 20});
  expect_same(lerp(a, b, 0.25), from_values<float>({2, 12.5F}));
  expect_same(lerp(a, b, 0.75), from_values<float>({6, 17.5F}));
  expect_same(lerp(a, b, -0.5), from_values<float>({-4, 5}));
  expect_same(lerp(a, b, from_values<float>({0.25F, 2})), from_values<float>({2, 30}));
  expect_same(lerp(from_values<std::int64_t>({0}), from_values<std::int64_t>({3}), 0.5), from_values<float>({1.5F}));
  expect_same(lerp(from_values<std::int64_t>({0}), from_values<std::int64_t>({3}), from_values<double>({0.5})),
              from_values<double>({1.5}));
}

BOOST_AUTO_TEST_CASE(lerp_is_exact_at_both_ends_and_between_equals) {
  Generator g(5);
  const Tensor a = uniform({300}, -1.0, 1.0, g);
  const Tensor b = uniform({300}, -1e6, 1e6, g);
  // a + (b - a) would lose digits if the end is the smaller operand.
  expect_same(lerp(b, a, 0.0), b);
  expect_same(lerp(b, a, 1.0), a);
  expect_same(lerp(b, a, ones({1})), a);
  expect_same(lerp(a, b, 0.0), a);
  expect_same(lerp(a, b, 1.0), b);
  expect_same(lerp(a, b, zeros({1})), a);
  expect_same(lerp(a, b, ones({1})), b);
  expect_same(lerp(a, a, 0.3), a);
  expect_same(lerp(a, a, 0.7), a);
}

BOOST_AUTO_TEST_CASE(products_and_quotients_are_added) {
  const Tensor x = from_values<float>({1, 2});
  const Tensor a = from_values<float>({6, -8});
  const Tensor b = from_values<float>({4, 2});
  expect_same(addcmul(x, a, b), from_values<float>({25, -14}));      // 1 + 24, 2 - 16
  expect_same(addcmul(x, a, b, 0.5), from_values<float>({13, -6}));  // 1 + 12, 2 - 8
  expect_same(addcdiv(x, a, b), from_values<float>({2.5F, -2}));     // 1 + 1.5, 2 - 4
  expect_same(addcdiv(x, a, b, -2), from_values<float>({-2, 10}));   // 1 - 3, 2 + 8
  const Tensor whole = from_values<std::int8_t>({100});
  expect_same(addcmul(whole, whole, whole, 3),
              from_values<std::int8_t>({-108}));  // 100 + 30000, wrapped: 30100 - 118 * 256
  expect_same(addcdiv(whole, whole, whole * 0 + 8), from_values<float>({112.5F}));
}

BOOST_AUTO_TEST_CASE(all_three_operands_broadcast) {
  const Tensor x = from_values<float>({1, 2}, {2, 1});
  const Tensor a = from_values<float>({10, 20});
  const Tensor b = scalar(0.5);
  expect_same(addcmul(x, a, b), from_values<float>({6, 11, 7, 12}, {2, 2}));
  expect_same(addcdiv(x, a, b), from_values<float>({21, 41, 22, 42}, {2, 2}));
  expect_same(lerp(x, a, b), from_values<float>({5.5F, 10.5F, 6, 11}, {2, 2}));
  expect_same(lerp(x, a, 0.5), from_values<float>({5.5F, 10.5F, 6, 11}, {2, 2}));
  BOOST_CHECK_EQUAL(lerp(zeros({0, 1}), a, b).shape(), (Shape{0, 2}));
  BOOST_CHECK_EQUAL(addcmul(zeros({0, 1}), a, b).shape(), (Shape{0, 2}));
  expect_same(addcdiv(scalar(1.0F), scalar(3.0F), scalar(2.0F)), scalar(2.5F));
}

BOOST_AUTO_TEST_CASE(every_layout_goes_the_same_way_and_16_bits_are_rounded_once) {
  Generator g(3);
  const Tensor x = uniform({3, 301}, -2.0, 2.0, g);
  const Tensor y = uniform({3, 301}, 0.5, 3.0, g);
  const auto check = [&](const auto& f) {
    expect_same(f(x.transpose(), y.transpose()).transpose().contiguous(), f(x, y));
    expect_same(f(x.slice(1, 3, 300, 7), y.slice(1, 3, 300, 7)), f(x, y).slice(1, 3, 300, 7).contiguous());
    expect_rounded(f, x, y);
  };
  check([](const Tensor& a, const Tensor& b) { return lerp(a, b, 0.3); });
  check([](const Tensor& a, const Tensor& b) { return lerp(a, b, a); });
  check([](const Tensor& a, const Tensor& b) { return addcmul(b, a, b, 0.1); });
  check([](const Tensor& a, const Tensor& b) { return addcdiv(a, a, b, 1e-8); });
}

BOOST_AUTO_TEST_CASE(operands_that_do_not_fit_are_named) {
  const Tensor x = zeros({2});
  const Tensor three = zeros({3});
  expect_error<ShapeError>("[lerp] shapes do not broadcast: (2) and (3)", [&] { (void)lerp(x, three, 0.5); });
  expect_error<ShapeError>("[lerp] shapes do not broadcast: (2) and (3)", [&] { (void)lerp(x, x, three); });
  expect_error<ShapeError>("[addcmul] shapes do not broadcast: (2) and (3)", [&] { (void)addcmul(x, x, three); });
  expect_error<ShapeError>("[addcdiv] shapes do not broadcast: (2) and (3)", [&] { (void)addcdiv(x, three, three); });
  const Tensor flag = ones({1}, DType::boolean);
  expect_error<DTypeError>("[addcmul] not defined for boolean", [&] { (void)addcmul(flag, flag, flag); });
  const Tensor whole = arange(2);
  expect_error<DTypeError>("[addcmul] not a value of i64: 0.5", [&] { (void)addcmul(whole, whole, whole, 0.5); });
  expect_error<TensorError>("[lerp] tensor is undefined", [&] { (void)lerp(x, Tensor(), 0.5); });
  expect_error<TensorError>("[addcdiv] tensor is undefined", [&] { (void)addcdiv(x, x, Tensor()); });
}

BOOST_AUTO_TEST_SUITE_END()

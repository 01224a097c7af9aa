#include <cmath>
#include <limits>

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(ops_activation)

BOOST_AUTO_TEST_CASE(activations_have_their_known_values) {
  const Tensor x = from_values<double>({-1, 0, 1});
  // x * P(normal < x): for 1, 0.8413447460685429.
  expect_close(gelu(x), from_values<double>({-0.15865525393145707, 0, 0.8413447460685429}), 1e-14);
  expect_close(gelu(x, Gelu::tanh), from_values<double>({-0.15880800939172324, 0, 0.8411919906082768}), 1e-14);
  expect_close(silu(x), from_values<double>({-0.2689414213699951, 0, 0.7310585786300049}), 1e-14);
  expect_close(softplus(x), from_values<double>({0.31326168751822286, 0.6931471805599453, 1.3132616875182228}), 1e-14);
  // log(1 + e^2) / 2
  expect_close(softplus(ones({1}, DType::f64), 2.0), from_values<double>({1.0634640055214861}), 1e-14);
  expect_same(relu(from_values<std::int8_t>({-3, 3})), from_values<std::int8_t>({0, 3}));
  BOOST_CHECK(silu(from_values<std::int32_t>({1})).dtype() == DType::f32);
}

BOOST_AUTO_TEST_CASE(functions_of_two_pieces_give_the_hand_values) {
  const Tensor x = from_values<float>({-4, -0.5, 0, 2, 8}, {5});
  expect_same(leaky_relu(x, 0.25), from_values<float>({-1, -0.125, 0, 2, 8}));
  expect_same(leaky_relu_backward(full({5}, 2.0), x, 0.25), from_values<float>({0.5, 0.5, 0.5, 2, 2}));
  expect_same(hardtanh(x), from_values<float>({-1, -0.5, 0, 1, 1}));
  expect_same(hardtanh(x, -2, 2), from_values<float>({-2, -0.5, 0, 2, 2}));
  expect_same(hardtanh(from_values<std::int32_t>({-3, 7}), -2, 2), from_values<std::int32_t>({-2, 2}));
  expect_same(hardtanh(from_values<std::int32_t>({-3, 7}), -2.5, 2), from_values<float>({-2.5, 2}));
  expect_same(hardtanh_backward(x, x, -4, 2), from_values<float>({0, -0.5, 0, 0, 0}));
  expect_same(relu6(x), from_values<float>({0, 0, 0, 2, 6}));
  expect_same(relu6(from_values<std::int32_t>({-3, 7})), from_values<std::int32_t>({0, 6}));
  // e^-1 - 1 and e^-0.5 - 1, times 2; below 0 the gradient is 2 e^x.
  const Tensor y = from_values<double>({-1, -0.5, 0, 3});
  expect_close(elu(y, 2.0), from_values<double>({-1.2642411176571153, -0.7869386805747332, 0, 3}), 1e-14);
  expect_close(elu_backward(ones({4}, DType::f64), y, 2.0),
               from_values<double>({0.7357588823428847, 1.2130613194252668, 2, 1}), 1e-14);
  BOOST_CHECK(elu(from_values<std::int32_t>({1})).dtype() == DType::f32);
}

BOOST_AUTO_TEST_CASE(units_that_scale_shrink_and_gate_give_the_hand_values) {
  const Tensor x = from_values<double>({-4, -1, 0, 1, 4});
  // e^-4 - 1 = -0.98168436, e^-1 - 1 = -0.63212056, e^-2 - 1 = -0.86466472 and e^-0.5 - 1 = -0.39346934
  expect_close(celu(x, 2.0), from_values<double>({-1.7293294335267746, -0.7869386805747332, 0, 1, 4}), 1e-14);
  expect_close(
      selu(x),
      from_values<double>({-1.7258986281898945, -1.1113307378125625, 0, 1.0507009873554805, 4.202803949421922}), 1e-14);
  // tanh(log(1 + e)) = ((1 + e)^2 - 1) / ((1 + e)^2 + 1)
  expect_close(mish(from_values<double>({0, 1, -1})),
               from_values<double>({0, 0.8650983882673103, -0.30340146137410895}), 1e-14);
  expect_close(softsign(x), from_values<double>({-0.8, -0.5, 0, 0.5, 0.8}), 1e-15);
  expect_close(tanhshrink(from_values<double>({1, 0})), from_values<double>({0.23840584404423515, 0}), 1e-14);
  expect_close(hardsigmoid(x), from_values<double>({0, 1.0 / 3.0, 0.5, 2.0 / 3.0, 1}), 1e-15);
  expect_close(hardswish(x), from_values<double>({-0.0, -1.0 / 3.0, 0, 2.0 / 3.0, 4}), 1e-15);
  expect_same(softshrink(x, 1.0), from_values<double>({-3, 0, 0, 0, 3}));
  expect_same(hardshrink(x, 1.0), from_values<double>({-4, 0, 0, 0, 4}));
  expect_same(threshold(x, 0.0, 7.0), from_values<double>({7, 7, 7, 1, 4}));
  expect_same(threshold(from_values<std::int32_t>({-2, 3}), 0, -5), from_values<std::int32_t>({-5, 3}));
  expect_close(glu(from_values<double>({6, 8, 0, std::log(3.0)})), from_values<double>({3, 6}), 1e-14);  // 6/2, 3*8/4
  expect_close(glu(from_values<float>({6, 0}, {2, 1}), 0), from_values<float>({3}, {1, 1}), 1e-6);
  const Tensor grad = full({5}, 6.0, DType::f64);
  expect_close(celu_backward(grad, x, 2.0), from_values<double>({6 * std::exp(-2.0), 6 * std::exp(-0.5), 6, 6, 6}),
               1e-14);
  expect_close(selu_backward(grad, from_values<double>({0, 0, 0, 1, 1})),
               from_values<double>(
                   {10.54859604508426, 10.54859604508426, 10.54859604508426, 6.304205924132883, 6.304205924132883}),
               1e-14);
  expect_same(hardsigmoid_backward(grad, from_values<double>({-4, -3, 0, 3, 4})), from_values<double>({0, 0, 1, 0, 0}));
  const Tensor nan = full({5}, std::numeric_limits<double>::quiet_NaN(), DType::f64);
  expect_same(hardsigmoid_backward(grad, nan), zeros({5}, DType::f64));
  expect_same(hardswish_backward(grad, from_values<double>({-4, -3, 0, 3, 4})), from_values<double>({0, -3, 3, 9, 6}));
  expect_same(softshrink_backward(grad, x, 1.0), from_values<double>({6, 0, 0, 0, 6}));
  expect_same(hardshrink_backward(grad, x, 1.0), from_values<double>({6, 0, 0, 0, 6}));
  expect_close(mish_backward(ones({1}, DType::f64), zeros({1}, DType::f64)), from_values<double>({0.6}),
               1e-15);  // (4 - 1) / (4 + 1)
}

BOOST_AUTO_TEST_CASE(prelu_has_one_slope_for_all_or_one_for_each_channel) {
  const Tensor x = from_values<float>({-1, 2, -3, -4, 5, -6}, {1, 3, 2});
  expect_same(prelu(x, from_values<float>({0.5})), from_values<float>({-0.5, 2, -1.5, -2, 5, -3}, {1, 3, 2}));
  expect_same(prelu(x, from_values<float>({1, 2, 3})), from_values<float>({-1, 2, -6, -8, 5, -18}, {1, 3, 2}));
  expect_same(prelu(full({}, -2.0), from_values<float>({0.5})), full({}, -1.0));
  expect_same(prelu(from_values<float>({-2, 2}), full({}, 0.5)), from_values<float>({-1, 2}));
  BOOST_CHECK_EQUAL(prelu(zeros({0, 3}), zeros({3})).shape(), (Shape{0, 3}));
  BOOST_CHECK(prelu(from_values<std::int32_t>({-1}), full({1}, 0.5, DType::f16)).dtype() == DType::f16);
  const std::string op = "[prelu] weight does not fit: ";
  expect_error<ShapeError>(op + "(3) for (2, 4)", [] { (void)prelu(zeros({2, 4}), zeros({3})); });
  expect_error<ShapeError>(op + "(4) for (4)", [] { (void)prelu(zeros({4}), zeros({4})); });
  expect_error<ShapeError>(op + "(1, 4) for (2, 4)", [] { (void)prelu(zeros({2, 4}), zeros({1, 4})); });
}

BOOST_AUTO_TEST_CASE(functions_of_two_pieces_take_any_layout_any_size_and_16_bits) {
  Generator g(1);
  const Tensor x = randn({3, 1500}, g);
  const Tensor turned = x.transpose().contiguous().transpose();
  for (const auto& f : {leaky_relu, elu, celu, softshrink, hardshrink}) {
    expect_same(f(turned, 0.5), f(x, 0.5));
    expect_same(f(x.slice(1, 1400), 0.5), f(x, 0.5).slice(1, 1400).contiguous());
    expect_rounded([&](const Tensor& a) { return f(a, 0.3); }, x);
    BOOST_CHECK_EQUAL(f(zeros({0, 2}), 0.5).shape(), (Shape{0, 2}));
  }
  for (const auto& f : {selu, mish, softsign, tanhshrink, hardsigmoid, hardswish}) {
    expect_same(f(turned), f(x));
    expect_same(f(x.slice(1, 1400)), f(x).slice(1, 1400).contiguous());
    BOOST_CHECK_EQUAL(f(zeros({0, 2})).shape(), (Shape{0, 2}));
    BOOST_CHECK(f(from_values<std::int32_t>({1})).dtype() == DType::f32);
    BOOST_CHECK(isnan(f(full({1}, std::numeric_limits<double>::quiet_NaN()))).item<bool>());
  }
  for (const auto& f : {selu, mish, hardsigmoid, hardswish}) expect_rounded(f, x);
  for (const auto& f : {selu_backward, mish_backward, hardsigmoid_backward, hardswish_backward}) {
    expect_same(f(turned, turned), f(x, x));
    expect_rounded(f, x, x);
  }
  for (const auto& f : {leaky_relu_backward, elu_backward, celu_backward, softshrink_backward, hardshrink_backward}) {
    expect_same(f(turned, turned, 0.5), f(x, x, 0.5));
    expect_rounded([&](const Tensor& d, const Tensor& a) { return f(d, a, 0.3); }, x, x);
  }
  expect_same(hardtanh_backward(turned, turned), hardtanh_backward(x, x));
  expect_rounded([](const Tensor& d, const Tensor& a) { return hardtanh_backward(d, a); }, x, x);
  const Tensor nan = full({1}, std::numeric_limits<double>::quiet_NaN());
  for (const Tensor& y : {leaky_relu(nan), elu(nan), hardtanh(nan), relu6(nan), celu(nan), softshrink(nan),
                          hardshrink(nan), threshold(nan, 0, 1)})
    BOOST_CHECK(isnan(y).item<bool>());
}

BOOST_AUTO_TEST_CASE(nothing_overflows_on_the_way) {
  const Tensor x = from_values<float>({-1000, 1000});
  expect_same(softplus(x), from_values<float>({0, 1000}));
  expect_same(softplus(x, 0.5), from_values<float>({0, 1000}));
  expect_same(silu(x), from_values<float>({-0.0F, 1000}));
  expect_same(gelu(x), from_values<float>({-0.0F, 1000}));
  expect_same(gelu_backward(ones({2}), x), from_values<float>({0, 1}));
  expect_same(silu_backward(ones({2}), x), from_values<float>({-0.0F, 1}));
  expect_same(softplus_backward(ones({2}), x), from_values<float>({0, 1}));
  expect_same(log_sigmoid(x), from_values<float>({-1000, -0.0F}));
  expect_same(mish(x), from_values<float>({-0.0F, 1000}));
  expect_same(mish_backward(ones({2}), x), from_values<float>({0, 1}));
  expect_close(selu(x), from_values<float>({-1.7580993F, 1050.701F}), 1e-6);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_named) {
  expect_error<ValueError>("[softplus] beta not above 0: -1", [] { (void)softplus(zeros({1}), -1); });
  expect_error<ShapeError>("[gelu_backward] shapes differ: (2) and (1)",
                           [] { (void)gelu_backward(zeros({2}), zeros({1})); });
  expect_error<TensorError>("[silu] tensor is undefined", [] { (void)silu(Tensor()); });
  expect_error<TensorError>("[log_sigmoid] tensor is undefined", [] { (void)log_sigmoid(Tensor()); });
  expect_error<ValueError>("[hardtanh] low above high: 2 > 1", [] { (void)hardtanh(zeros({1}), 2, 1); });
  expect_error<TensorError>("[elu] tensor is undefined", [] { (void)elu(Tensor()); });
  expect_error<TensorError>("[relu6] tensor is undefined", [] { (void)relu6(Tensor()); });
  for (const auto& f : {selu, mish, softsign, tanhshrink, hardsigmoid, hardswish}) {
    BOOST_CHECK_THROW((void)f(Tensor()), TensorError);
  }
  expect_error<ValueError>("[celu] alpha is 0", [] { (void)celu(zeros({1}), 0.0); });
  expect_error<ValueError>("[softshrink] lambda below 0: -1", [] { (void)softshrink(zeros({1}), -1); });
  expect_error<DTypeError>("[threshold] not a value of i64: 1.5",
                           [] { (void)threshold(zeros({1}, DType::i64), 1.5, 0); });
  expect_error<ShapeError>("[glu] no halves: (2, 3) along 1", [] { (void)glu(zeros({2, 3})); });
  expect_error<ShapeError>("[hardswish_backward] shapes differ: (2) and (1)",
                           [] { (void)hardswish_backward(zeros({2}), zeros({1})); });
  expect_error<ShapeError>("[elu_backward] shapes differ: (2) and (1)",
                           [] { (void)elu_backward(zeros({2}), zeros({1})); });
  expect_error<DTypeError>("[leaky_relu_backward] dtypes differ: f32 and f64",
                           [] { (void)leaky_relu_backward(zeros({1}), zeros({1}, DType::f64)); });
}

BOOST_AUTO_TEST_CASE(softplus_is_the_identity_above_its_threshold) {
  const Tensor x = from_values<double>({1.0, 3.0, 25.0});
  const double near = std::log1p(std::exp(2.0)) / 2.0;
  expect_close(softplus(x, 2.0, 5.0), from_values<double>({near, 3.0, 25.0}), 1e-15);  // 2 * 1 is below 5, 2 * 3 is not
  expect_same(softplus(x).slice(0, 2), from_values<double>({25.0}));
  expect_same(softplus(from_values<std::int64_t>({30}), 1.0, 20.0), from_values<float>({30.0}));
  expect_same(softplus_backward(ones({3}, DType::f64), x, 2.0, 5.0).slice(0, 1), from_values<double>({1.0, 1.0}));
  BOOST_CHECK(isnan(softplus(from_values<double>({std::numeric_limits<double>::quiet_NaN()}), 1.0, 5.0)).item<bool>());
  expect_error<ValueError>("[softplus] beta not above 0: 0", [&] { (void)softplus(x, 0.0, 5.0); });
}

BOOST_AUTO_TEST_SUITE_END()

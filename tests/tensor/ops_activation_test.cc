#include <limits>

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(ops_activation)

BOOST_AUTO_TEST_CASE(activations_have_their_known_values) {
  const Tensor x = from_values<double>({-1, 0, 1});
  // 1 times the probability of a normal number below 1, 0.8413447460685429.
  expect_close(gelu(x), from_values<double>({-0.15865525393145707, 0, 0.8413447460685429}), 1e-14);
  expect_close(gelu(x, Gelu::tanh), from_values<double>({-0.15880800939172324, 0, 0.8411919906082768}), 1e-14);
  expect_close(silu(x), from_values<double>({-0.2689414213699951, 0, 0.7310585786300049}), 1e-14);
  expect_close(softplus(x), from_values<double>({0.31326168751822286, 0.6931471805599453, 1.3132616875182228}), 1e-14);
  // log(1 + e^2) / 2
  expect_close(softplus(ones({1}, DType::f64), 2.0), from_values<double>({1.0634640055214861}), 1e-14);
  expect_same(relu(from_values<std::int8_t>({-3, 3})), from_values<std::int8_t>({0, 3}));
  BOOST_CHECK(silu(from_values<std::int32_t>({1})).dtype() == DType::f32);
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
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_named) {
  expect_error<ValueError>("[softplus] beta not above 0: -1", [] { (void)softplus(zeros({1}), -1); });
  expect_error<ShapeError>("[gelu_backward] shapes differ: (2) and (1)", [] { (void)gelu_backward(zeros({2}), zeros({1})); });
  expect_error<TensorError>("[silu] tensor is undefined", [] { (void)silu(Tensor()); });
}

BOOST_AUTO_TEST_SUITE_END()

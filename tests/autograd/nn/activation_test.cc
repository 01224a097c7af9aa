#include "autograd/nn/activation.h"

#include "autograd/ops.h"
#include "autograd/ops/nn.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(nn_activation)

BOOST_AUTO_TEST_CASE(activations_pass_on_what_they_were_made_with) {
  const Variable x = leaf({-2.0, -0.5, 0.25, 8.0}, {2, 2});
  const auto same_as = [](const Variable& got, const Variable& expected) {
    BOOST_CHECK(same_bytes(got.value(), expected.value()));
  };
  same_as(nn::Relu()(x), relu(x));
  same_as(nn::Relu6()(x), relu6(x));
  same_as(nn::LeakyRelu()(x), leaky_relu(x));
  same_as(nn::LeakyRelu(0.5)(x), leaky_relu(x, 0.5));
  same_as(nn::Elu()(x), elu(x));
  same_as(nn::Elu(2.0)(x), elu(x, 2.0));
  same_as(nn::Gelu()(x), gelu(x));
  same_as(nn::Gelu(Gelu::tanh)(x), gelu(x, Gelu::tanh));
  same_as(nn::Silu()(x), silu(x));
  same_as(nn::Softplus()(x), softplus(x));
  same_as(nn::Softplus(0.5)(x), softplus(x, 0.5));
  same_as(nn::Hardtanh()(x), hardtanh(x));
  same_as(nn::Hardtanh(-0.25, 3.0)(x), hardtanh(x, -0.25, 3.0));
  same_as(nn::Tanh()(x), tanh(x));
  same_as(nn::Sigmoid()(x), sigmoid(x));
  same_as(nn::Softmax()(x), softmax(x, 1));
  same_as(nn::Softmax(0)(x), softmax(x, 0));
  same_as(nn::LogSoftmax()(x), log_softmax(x, 1));
  same_as(nn::LogSoftmax(0)(x), log_softmax(x, 0));
  same_as(nn::Softmin()(x), softmin(x, 1));
  same_as(nn::Softmin(0)(x), softmin(x, 0));
  same_as(nn::LogSigmoid()(x), log_sigmoid(x));
  same_as(nn::Selu()(x), selu(x));
  same_as(nn::Celu()(x), celu(x));
  same_as(nn::Celu(0.5)(x), celu(x, 0.5));
  same_as(nn::Mish()(x), mish(x));
  same_as(nn::Softsign()(x), softsign(x));
  same_as(nn::Tanhshrink()(x), tanhshrink(x));
  same_as(nn::Hardsigmoid()(x), hardsigmoid(x));
  same_as(nn::Hardswish()(x), hardswish(x));
  same_as(nn::Softshrink()(x), softshrink(x));
  same_as(nn::Softshrink(0.25)(x), softshrink(x, 0.25));
  same_as(nn::Hardshrink()(x), hardshrink(x));
  same_as(nn::Hardshrink(0.25)(x), hardshrink(x, 0.25));
  same_as(nn::Threshold(0.5, 3.0)(x), threshold(x, 0.5, 3.0));
  same_as(nn::Glu()(x), glu(x, 1));
  same_as(nn::Glu(0)(x), glu(x, 0));
}

BOOST_AUTO_TEST_CASE(prelu_starts_with_a_quarter_and_learns_its_slopes) {
  nn::Prelu layer(2);
  BOOST_REQUIRE_EQUAL(layer.named_parameters().size(), 1U);
  BOOST_CHECK_EQUAL(layer.named_parameters()[0].first, "weight");
  const Variable weight = layer.parameters()[0];
  expect(weight.value(), {0.25, 0.25});
  const Variable y = layer(Variable(from_values<float>({-2, 4, -1, -3}, {2, 2})));
  expect(y.value(), {-0.5, 4.0, -0.25, -0.75}, {2, 2});
  expect(backward(sum(y)).of(weight), {-3.0, -3.0});  // -2 - 1, -3
  expect(nn::Prelu(1, 0.5, DType::f64)(leaf({-2.0, 2.0})).value(), {-1.0, 2.0});
}

BOOST_AUTO_TEST_SUITE_END()

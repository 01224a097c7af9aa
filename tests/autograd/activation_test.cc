#include "autograd/nn/activation.h"

#include "autograd/ops.h"
#include "autograd/ops_nn.h"
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
}

BOOST_AUTO_TEST_SUITE_END()

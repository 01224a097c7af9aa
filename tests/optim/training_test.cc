// Autograd, modules and optimizer together: training of small networks.
#include <boost/test/unit_test.hpp>

#include <memory>
#include <vector>

#include "autograd/engine.h"
#include "autograd/nn/activation.h"
#include "autograd/nn/conv.h"
#include "autograd/nn/embedding.h"
#include "autograd/nn/linear.h"
#include "autograd/nn/pool.h"
#include "autograd/nn/reshape.h"
#include "autograd/nn/sequential.h"
#include "autograd/ops.h"
#include "autograd/ops/nn.h"
#include "optim/local_optimizer.h"
#include "tensor/create.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(training)

namespace {

struct Examples {
  Tensor images;   ///< (n, 1, 8, 8)
  Tensor classes;  ///< (n): 0 for a horizontal bar, 1 for a vertical one, 2 for a diagonal one, at any position
};

Examples draw_examples(std::int64_t count, Generator& generator) {
  Tensor images = mul(randn({count, 1, 8, 8}, generator), 0.2);
  const Tensor classes = randint(0, 3, {count}, generator);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto kind = classes.data<std::int64_t>()[static_cast<std::size_t>(i)];
    const auto row = static_cast<std::int64_t>(generator.below(kind == 0 ? 8 : 5));
    const auto column = static_cast<std::int64_t>(generator.below(kind == 1 ? 8 : 5));
    for (std::int64_t k = 0; k < 4; ++k) {
      const std::int64_t y = row + (kind == 0 ? 0 : k);
      const std::int64_t x = column + (kind == 1 ? 0 : k);
      images.mutable_data<float>()[static_cast<std::size_t>(i * 64 + y * 8 + x)] += 1.0F;
    }
  }
  return {images, classes};
}

double accuracy(nn::Layer& network, const Examples& examples) {
  const NoGradGuard no_grad;
  const Tensor guesses = argmax(network(Variable(examples.images)).value(), 1);
  return mean(eq(guesses, examples.classes).to(DType::f64)).item();
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_convolutional_network_learns_to_tell_bars_apart) {
  Generator generator(2024);
  const auto network = nn::sequential(std::make_shared<nn::Conv2d>(1, 8, Size2d{3, 3}, generator),
                                      std::make_shared<nn::Relu>(), std::make_shared<nn::MaxPool2d>(),
                                      std::make_shared<nn::Flatten>(), std::make_shared<nn::Linear>(72, 3, generator));
  const Examples held_out = draw_examples(300, generator);
  BOOST_CHECK_LT(accuracy(*network, held_out), 0.6);

  optim::LocalOptimizer optimizer(network->parameters(), optim::SgdOptions{.lr = 0.1, .momentum = 0.9});
  for (int i = 0; i < 150; ++i) {
    const Examples batch = draw_examples(32, generator);
    optimizer.step(backward(cross_entropy((*network)(Variable(batch.images)), batch.classes)));
  }
  BOOST_CHECK_GE(accuracy(*network, held_out), 0.97);
}

BOOST_AUTO_TEST_CASE(linear_regression_finds_the_line) {
  Generator generator(7);
  nn::Linear line(2, 1, generator, nn::Bias::yes, DType::f64);
  optim::LocalOptimizer optimizer(line.parameters(), optim::SgdOptions{.lr = 0.1});
  const Variable x = randn({64, 2}, generator, DType::f64);
  const Variable y = matmul(x, Variable(from_values<double>({2.0, -3.0}, {2, 1}))) + 0.5;
  for (int i = 0; i < 300; ++i) optimizer.step(backward(mse_loss(line(x), y)));
  BOOST_CHECK(allclose(line.weight().value(), from_values<double>({2.0, -3.0}, {1, 2}), 1e-6));
  BOOST_CHECK(allclose(line.bias().value(), from_values<double>({0.5}), 1e-6));
}

BOOST_AUTO_TEST_CASE(rows_of_a_table_that_were_not_used_do_not_change) {
  Generator generator(3);
  nn::Embedding table(4, 2, generator);
  const Tensor before = table.weight().value();
  optim::LocalOptimizer optimizer(table.parameters(), optim::SgdOptions{.lr = 0.5});
  optimizer.step(backward(sum(table(Variable(from_values<std::int64_t>({2, 2}))))));
  const Tensor after = table.weight().value();
  BOOST_CHECK(same_bytes(after.slice(0, 0, 2), before.slice(0, 0, 2)));
  BOOST_CHECK(allclose(after.select(0, 2), sub(before.select(0, 2), 1.0)));  // two uses of gradient 1, times 0.5
}

BOOST_AUTO_TEST_CASE(a_step_between_forward_and_backward_leaves_the_gradient_as_it_was) {
  Generator generator(4);
  nn::Linear line(3, 2, generator);
  const Variable x(randn({4, 3}, generator), RequiresGrad::yes);
  const Variable loss = sum(tanh(line(x)));
  const Tensor expected = backward(loss).of(x);
  optim::LocalOptimizer optimizer(line.parameters(), optim::SgdOptions{.lr = 1.0});
  optimizer.step(backward(sum(line(x))));
  BOOST_CHECK(same_bytes(backward(loss).of(x), expected));
}

BOOST_AUTO_TEST_CASE(training_twice_from_one_seed_gives_the_same_bits) {
  auto train = [] {
    Generator generator(5);
    nn::Linear line(64, 3, generator);
    optim::LocalOptimizer optimizer(
        line.parameters(), optim::SgdOptions{.lr = 0.1, .momentum = 0.9, .weight_decay = 1e-3, .nesterov = true});
    for (int i = 0; i < 5; ++i) {
      const Examples batch = draw_examples(16, generator);
      optimizer.step(backward(cross_entropy(line(Variable(batch.images.reshape({16, 64}))), batch.classes)));
    }
    return line.weight().value();
  };
  BOOST_CHECK(same_bytes(train(), train()));
}

BOOST_AUTO_TEST_SUITE_END()

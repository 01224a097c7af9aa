#include <array>
#include <cmath>
#include <memory>

#include "autograd/engine.h"
#include "autograd/nn/activation.h"
#include "autograd/nn/conv.h"
#include "autograd/nn/dropout.h"
#include "autograd/nn/embedding.h"
#include "autograd/nn/linear.h"
#include "autograd/nn/module_list.h"
#include "autograd/nn/pool.h"
#include "autograd/nn/reshape.h"
#include "autograd/nn/sequential.h"
#include "autograd/ops.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(nn_modules)

namespace {

/// A model with a parameter of its own and parts.
class Scaled final : public nn::Module {
 public:
  explicit Scaled(Generator& generator)
      : scale_(add_parameter("scale", full({1}, 2.0))),
        body_(add_module("body", nn::sequential(std::make_shared<nn::Linear>(2, 3, generator),
                                                std::make_shared<nn::Dropout>(0.5, generator)))) {}

  Variable forward(const Variable& x) { return body_->forward(x) * scale_; }

 private:
  Variable scale_;
  std::shared_ptr<nn::Sequential> body_;
};

struct Naming final : nn::Module {
  void add(const std::string& name) { add_parameter(name, ones({1})); }
  void add_nothing() { add_module("part", std::shared_ptr<nn::Linear>()); }
};

}  // namespace

BOOST_AUTO_TEST_CASE(parameters_are_listed_with_their_paths_own_ones_first) {
  Generator generator(1);
  const Scaled model(generator);
  std::vector<std::string> names;
  for (const auto& [name, parameter] : model.named_parameters()) {
    names.push_back(name);
    BOOST_CHECK(parameter.requires_grad());
  }
  const std::vector<std::string> expected{"scale", "body.0.weight", "body.0.bias"};
  BOOST_TEST(names == expected, boost::test_tools::per_element());
  BOOST_CHECK_EQUAL(model.parameters().size(), 3U);
  BOOST_CHECK(same(model.parameters()[0], model.parameters()[0]));
}

BOOST_AUTO_TEST_CASE(the_mode_reaches_every_part) {
  Generator generator(1);
  Scaled model(generator);
  const Variable x = ones({64, 2});
  auto zeros_in = [&] { return sum(eq(model.forward(x).value(), 0.0)).item(); };
  BOOST_CHECK(zeros_in() > 0.0);
  model.eval();
  BOOST_CHECK_EQUAL(zeros_in(), 0.0);
  model.train();
  BOOST_CHECK(zeros_in() > 0.0);
}

BOOST_AUTO_TEST_CASE(names_that_would_be_ambiguous_are_refused) {
  Naming module;
  module.add("weight");
  expect_throw<ValueError>([&] { module.add("weight"); }, "[nn] name given twice: weight");
  expect_throw<ValueError>([&] { module.add("a.b"); }, "[nn] not a name: a.b");
  expect_throw<ValueError>([&] { module.add(""); }, "[nn] not a name: ");
  expect_throw<ValueError>([&] { module.add_nothing(); }, "[nn] no module for the name: part");
}

BOOST_AUTO_TEST_CASE(equal_seeds_give_equal_parameters_and_other_seeds_give_others) {
  Generator a(5);
  Generator b(5);
  Generator c(6);
  const nn::Linear first(4, 3, a);
  const nn::Linear second(4, 3, b);
  const nn::Linear third(4, 3, c);
  BOOST_CHECK(same_bytes(first.weight().value(), second.weight().value()));
  BOOST_CHECK(!same_bytes(first.weight().value(), third.weight().value()));
}

BOOST_AUTO_TEST_CASE(first_values_lie_in_their_bounds_and_fill_them) {
  Generator generator(1);
  const nn::Linear linear_layer(100, 50, generator);
  const Tensor weight = linear_layer.weight().value();
  BOOST_CHECK(max(abs(weight)).item() <= 0.1);  // 1 / sqrt(100)
  BOOST_CHECK(max(abs(weight)).item() > 0.09);
  BOOST_CHECK(max(abs(linear_layer.bias().value())).item() <= 0.1);
  const nn::Conv2d conv(4, 8, {5, 5}, generator);
  BOOST_CHECK(max(abs(conv.weight().value())).item() <= 0.1);  // 1 / sqrt(4 * 25)
}

BOOST_AUTO_TEST_CASE(layers_compute_what_their_operations_do) {
  Generator generator(1);
  nn::Linear linear_layer(2, 3, generator);
  const Variable x = from_values<float>({1.0F, -2.0F}, {1, 2});
  const Tensor expected =
      add(matmul(x.value(), linear_layer.weight().value().transpose()), linear_layer.bias().value());
  BOOST_CHECK(same_bytes(linear_layer(x).value(), expected));
  nn::Linear without_bias(2, 3, generator, nn::Bias::no);
  BOOST_CHECK_EQUAL(without_bias.parameters().size(), 1U);
  BOOST_CHECK(!without_bias.bias().defined());

  nn::Embedding table(5, 4, generator);
  const Variable rows = table(Variable(from_values<std::int64_t>({3, 0, 3})));
  BOOST_CHECK(same_bytes(rows.value().select(0, 0), table.weight().value().select(0, 3)));
  BOOST_CHECK(rows.shape() == (Shape{3, 4}));
  expect(nn::Relu()(x).value(), {1.0, 0.0}, {1, 2});
}

BOOST_AUTO_TEST_CASE(a_padding_row_starts_as_zeros_and_gets_no_gradient) {
  Generator generator(1);
  nn::Embedding table(3, 2, generator, {.padding_idx = -2}, DType::f64);
  expect(table.weight().value().select(0, 1), {0.0, 0.0});
  const Variable rows = table(Variable(from_values<std::int64_t>({1, 2, 2})));
  expect(backward(sum(rows)).of(table.weight()), {0.0, 0.0, 0.0, 0.0, 2.0, 2.0}, {3, 2});
  expect_throw<IndexError>([&] { nn::Embedding(5, 2, generator, {.padding_idx = 5}); },
                           "[Embedding] padding index out of range: 5 of 5");
}

BOOST_AUTO_TEST_CASE(bags_of_rows_are_summed_or_averaged_without_their_padding) {
  Generator generator(1);
  const Tensor index = from_values<std::int64_t>({0, 1, 2, 1});
  const Tensor offsets = from_values<std::int64_t>({0, 3});
  const auto bags = [&](BagMode mode, const Variable& weights = {}) {
    nn::EmbeddingBag layer(3, 1, generator, {.mode = mode, .padding_idx = 2}, DType::f64);
    expect(layer.weight().value().select(0, 2), {0.0});
    layer.weight().set_value(from_values<double>({1.0, 5.0, 100.0}, {3, 1}));
    return layer.forward(index, offsets, weights).value();
  };
  expect(bags(BagMode::sum), {6.0, 5.0}, {2, 1});   // 1 + 5, 5
  expect(bags(BagMode::mean), {3.0, 5.0}, {2, 1});  // (1 + 5) / 2, 5
  expect(bags(BagMode::max), {5.0, 5.0}, {2, 1});
  expect(bags(BagMode::sum, from_values<double>({2.0, 3.0, 4.0, 0.5})), {17.0, 2.5}, {2, 1});  // 2*1 + 3*5, 5/2
  expect_throw<ValueError>([&] { nn::EmbeddingBag(0, 8, generator); }, "[EmbeddingBag] sizes below 1: 0 x 8");
}

BOOST_AUTO_TEST_CASE(an_image_network_has_gradients_for_all_its_parameters) {
  Generator generator(2);
  const auto network =
      nn::sequential(std::make_shared<nn::Conv2d>(1, 4, Size2d{3, 3}, generator), std::make_shared<nn::Relu>(),
                     std::make_shared<nn::MaxPool2d>(), std::make_shared<nn::Flatten>(),
                     std::make_shared<nn::Linear>(36, 5, generator), std::make_shared<nn::LogSoftmax>());
  const Variable y = network->forward(Variable(rand({2, 1, 8, 8}, generator)));
  BOOST_CHECK(y.shape() == (Shape{2, 5}));
  const Gradients gradients = backward(sum(y * y));
  for (const Variable& parameter : network->parameters()) {
    const Tensor gradient = gradients.of(parameter);
    BOOST_REQUIRE(gradient.defined());
    BOOST_CHECK(gradient.shape() == parameter.shape());
    BOOST_CHECK(max(abs(gradient)).item() > 0.0);
  }
}

BOOST_AUTO_TEST_CASE(layers_and_modules_in_a_row_are_named_by_their_places) {
  Generator generator(1);
  nn::Sequential chain;
  const Variable x = ones({1, 2});
  BOOST_CHECK(same(chain(x), x));
  chain.append(std::make_shared<nn::Linear>(2, 3, generator));
  chain.append(std::make_shared<nn::Linear>(3, 1, generator, nn::Bias::no));
  BOOST_CHECK_EQUAL(chain.size(), 2U);
  BOOST_CHECK_EQUAL(chain.named_parameters()[2].first, "1.weight");
  BOOST_CHECK(same_bytes(chain(x).value(), chain[1](chain[0](x)).value()));
  BOOST_CHECK_THROW((void)chain[2], std::out_of_range);

  nn::ModuleList<nn::Linear> heads({std::make_shared<nn::Linear>(2, 3, generator)});
  heads.append(std::make_shared<nn::Linear>(2, 4, generator));
  std::int64_t width = 0;
  for (const auto& head : heads) width += head->forward(x).shape()[1];
  BOOST_CHECK_EQUAL(width, 7);
  BOOST_CHECK_EQUAL(heads[1].weight().shape()[0], 4);
  BOOST_CHECK_EQUAL(heads.named_parameters()[3].first, "1.bias");
  BOOST_CHECK_EQUAL(heads.kind(), "ModuleList");
  expect_throw<ValueError>([&] { heads.append(nullptr); }, "[nn] no module for the name: 2");
}

BOOST_AUTO_TEST_CASE(dropout_layers_with_one_parent_generator_draw_different_masks) {
  Generator generator(1);
  nn::Dropout first(0.5, generator);
  nn::Dropout second(0.5, generator);
  const Variable x = ones({200});
  BOOST_CHECK(!same_bytes(first(x).value(), second(x).value()));
}

BOOST_AUTO_TEST_CASE(channels_are_dropped_as_a_whole_while_training) {
  Generator generator(1);
  nn::Dropout1d lines(0.5, generator);
  nn::Dropout2d images(0.5, generator);
  const auto channels_of = [](const Tensor& y) {
    const Tensor channels = y.reshape({60, -1});
    BOOST_TEST(same_bytes(max(channels, {1}), min(channels, {1})));
    const double kept = sum(gt(channels.select(1, 0), 0.0)).item();
    BOOST_TEST((kept > 15.0 && kept < 45.0));  // 30 +- 4 expected
    expect(max(y), 2.0);
  };
  channels_of(lines(Variable(ones({3, 20, 4}, DType::f64))).value());
  channels_of(lines(Variable(ones({60, 4}, DType::f64))).value());
  channels_of(images(Variable(ones({3, 20, 2, 3}, DType::f64))).value());
  lines.eval();
  images.eval();
  const Variable x = ones({1, 2, 3, 4});
  BOOST_TEST(same(images(x), x));
  BOOST_TEST(same(lines(x), x));
}

BOOST_AUTO_TEST_CASE(layers_that_change_only_the_shape_keep_the_numbers_and_their_order) {
  const Variable x(arange(24).reshape({2, 3, 4}));
  BOOST_TEST(same(nn::Identity()(x), x));
  BOOST_CHECK_EQUAL(nn::Flatten()(x).shape(), (Shape{2, 12}));
  BOOST_CHECK_EQUAL(nn::Flatten(0, 1)(x).shape(), (Shape{6, 4}));
  const Variable apart = nn::Unflatten(-1, {2, -1})(x);
  BOOST_CHECK_EQUAL(apart.shape(), (Shape{2, 3, 2, 2}));
  BOOST_TEST(same_bytes(apart.value().reshape({24}), x.value().reshape({24})));
  BOOST_CHECK_EQUAL(nn::Unflatten(0, {1, 2})(x).shape(), (Shape{1, 2, 3, 4}));
  BOOST_CHECK_THROW((void)nn::Unflatten(1, {2, 2})(x), ShapeError);
  BOOST_CHECK_THROW((void)nn::Unflatten(3, {2, 2})(x), ShapeError);
}

BOOST_AUTO_TEST_CASE(sizes_and_probabilities_that_make_no_layer_are_refused) {
  Generator generator(1);
  expect_throw<ValueError>([&] { nn::Linear(0, 10, generator); }, "[Linear] sizes below 1: 0 -> 10");
  expect_throw<ValueError>(
      [&] {
        nn::Conv2d(1, 2, {3, 0}, generator);
      },
      "[Conv2d] sizes below 1: 1 -> 2, kernel (3, 0)");
  expect_throw<ValueError>([&] { nn::Embedding(0, 8, generator); }, "[Embedding] sizes below 1: 0 x 8");
  expect_throw<ValueError>([&] { nn::Dropout(1.0, generator); }, "[Dropout] probability outside [0, 1): 1");
  expect_throw<ValueError>([&] { nn::Dropout1d(1.5, generator); }, "[Dropout1d] probability outside [0, 1): 1.5");
  expect_throw<ValueError>([&] { nn::Dropout2d(-1.0, generator); }, "[Dropout2d] probability outside [0, 1): -1");
  expect_throw<ShapeError>([&] { (void)nn::Dropout1d(0.5, generator)(Variable(zeros({2}))); },
                           "[dropout1d] not (n, channels, length): (2)");
  expect_throw<ShapeError>(
      [&] {
        (void)nn::Dropout2d(0.5, generator)(Variable(zeros({2, 3})));
      },
      "[dropout2d] not (n, channels, h, w): (2, 3)");
}

BOOST_AUTO_TEST_SUITE_END()

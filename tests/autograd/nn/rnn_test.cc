#include "autograd/nn/rnn.h"

#include <string>
#include <vector>

#include "autograd/nn/rnn_cell.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(nn_rnn)

namespace {

Variable random(const Shape& shape) {
  Generator generator(5);
  return Variable(uniform(shape, -1.0, 1.0, generator));
}

}  // namespace

BOOST_AUTO_TEST_CASE(parameters_have_torchs_names_and_shapes_and_start_within_their_bound) {
  Generator generator(1);
  const nn::Lstm model(3, 4, generator, {.layers = 2, .bidirectional = true});
  std::vector<std::string> names;
  for (const auto& [name, parameter] : model.named_parameters()) {
    names.push_back(name);
    BOOST_CHECK(max(abs(parameter.value())).item() <= 0.5);  // 1 / sqrt(4)
    BOOST_CHECK(max(abs(parameter.value())).item() > 0.3);
  }
  const std::vector<std::string> expected{
      "weight_ih_l0",         "weight_hh_l0",         "bias_ih_l0",         "bias_hh_l0",
      "weight_ih_l0_reverse", "weight_hh_l0_reverse", "bias_ih_l0_reverse", "bias_hh_l0_reverse",
      "weight_ih_l1",         "weight_hh_l1",         "bias_ih_l1",         "bias_hh_l1",
      "weight_ih_l1_reverse", "weight_hh_l1_reverse", "bias_ih_l1_reverse", "bias_hh_l1_reverse"};
  BOOST_TEST(names == expected, boost::test_tools::per_element());
  BOOST_CHECK(model.parameters()[0].shape() == (Shape{16, 3}));
  BOOST_CHECK(model.parameters()[8].shape() == (Shape{16, 8}));  // both directions of the previous layer
  BOOST_CHECK_EQUAL(nn::Gru(3, 4, generator, {.bias = nn::Bias::no}).parameters().size(), 2U);
}

BOOST_AUTO_TEST_CASE(layers_and_cells_compute_the_same) {
  Generator generator(2);
  nn::Gru layer(3, 4, generator);
  nn::GruCell cell(3, 4, generator);
  for (std::size_t i = 0; i < 4; ++i) cell.parameters()[i].set_value(layer.parameters()[i].value());
  const Variable x = random({3, 2, 3});
  const RnnOutputs outputs = layer.forward(x);
  Variable hidden;
  for (int t = 0; t < 3; ++t) {
    hidden = cell.forward(select(x, 0, t), hidden);
    BOOST_CHECK(allclose(hidden.value(), outputs.output.value().select(0, t), 1e-5, 1e-7));
  }
}

BOOST_AUTO_TEST_CASE(a_state_carries_on_where_another_forward_ended) {
  Generator generator(3);
  nn::Lstm model(3, 4, generator, {.layers = 2});
  const Variable x = random({6, 2, 3});
  const RnnOutputs whole = model.forward(x);
  const RnnOutputs first = model.forward(slice(x, 0, 0, 4));
  const RnnOutputs second = model.forward(slice(x, 0, 4), first.hidden, first.cell);
  BOOST_CHECK(allclose(second.output.value(), whole.output.value().slice(0, 4), 1e-5, 1e-7));
  BOOST_CHECK(allclose(second.cell.value(), whole.cell.value(), 1e-5, 1e-7));
}

BOOST_AUTO_TEST_CASE(examples_may_come_first_or_not_at_all) {
  Generator generator(4);
  Generator same(4);
  nn::Gru by_time(3, 4, generator, {.layers = 2, .bidirectional = true});
  nn::Gru by_example(3, 4, same, {.layers = 2, .batch_first = true, .bidirectional = true});
  const Variable x = random({5, 2, 3});
  const RnnOutputs expected = by_time.forward(x);
  const RnnOutputs outputs = by_example.forward(transpose(x, 0, 1));
  BOOST_CHECK(outputs.output.shape() == (Shape{2, 5, 8}));
  BOOST_CHECK(outputs.hidden.shape() == (Shape{4, 2, 4}));
  BOOST_CHECK(allclose(outputs.output.value().transpose(0, 1), expected.output.value(), 1e-5, 1e-7));
  const RnnOutputs one = by_time.forward(select(x, 1, 1), select(expected.hidden, 1, 1));
  BOOST_CHECK(one.output.shape() == (Shape{5, 8}));
  BOOST_CHECK(one.hidden.shape() == (Shape{4, 4}));
  BOOST_CHECK(
      allclose(one.hidden.value(), by_time.forward(x, expected.hidden).hidden.value().select(1, 1), 1e-5, 1e-7));
}

BOOST_AUTO_TEST_CASE(elements_are_dropped_between_layers_while_training_alone) {
  Generator generator(5);
  nn::Rnn model(3, 32, generator, {.layers = 2, .dropout = 0.5});
  const Variable x = random({5, 2, 3});
  const Tensor first = model.forward(x).output.value();
  BOOST_CHECK(!same_bytes(model.forward(x).output.value(), first));
  model.eval();
  const Tensor calm = model.forward(x).output.value();
  BOOST_CHECK(same_bytes(model.forward(x).output.value(), calm));
  BOOST_CHECK(!same_bytes(calm, first));
  nn::Rnn one_layer(3, 32, generator, {.dropout = 0.5});
  BOOST_CHECK(same_bytes(one_layer.forward(x).output.value(), one_layer.forward(x).output.value()));
}

BOOST_AUTO_TEST_CASE(a_model_may_be_of_another_dtype) {
  Generator generator(6);
  nn::Lstm model(3, 4, generator, {.dtype = DType::bf16});
  const RnnOutputs outputs = model.forward(random({5, 2, 3}).value().to(DType::bf16));
  BOOST_CHECK(outputs.output.dtype() == DType::bf16);
  BOOST_CHECK(backward(sum(outputs.output)).of(model.parameters()[0]).dtype() == DType::bf16);
}

BOOST_AUTO_TEST_CASE(sizes_options_and_states_that_do_not_fit_are_refused) {
  Generator generator(7);
  expect_throw<ValueError>([&] { nn::Lstm(3, 0, generator); }, "[Lstm] sizes below 1: 3 -> 0, layers 1");
  expect_throw<ValueError>([&] { nn::Gru(3, 4, generator, {.layers = 0}); }, "[Gru] sizes below 1: 3 -> 4, layers 0");
  expect_throw<ValueError>([&] { nn::Rnn(3, 4, generator, {.dropout = 1.0}); }, "[Rnn] dropout outside [0, 1): 1");
  expect_throw<ValueError>([&] { nn::GruCell(0, 4, generator); }, "[GruCell] sizes below 1: 0 -> 4");
  nn::Lstm model(3, 4, generator, {.layers = 2});
  nn::Gru by_example(3, 4, generator, {.batch_first = true});
  expect_throw<ShapeError>(
      [&] {
        (void)model.forward(random({5, 2, 4}));
      },
      "[Lstm] x is not (steps, examples, 3): (5, 2, 4)");
  expect_throw<ShapeError>([&] { (void)by_example.forward(random({3})); }, "[Gru] x is not (examples, steps, 3): (3)");
  expect_throw<ShapeError>(
      [&] {
        (void)model.forward(random({5, 2, 3}), random({1, 2, 4}));
      },
      "[Lstm] state is (1, 2, 4), not (2, 2, 4)");
  expect_throw<ShapeError>(
      [&] {
        (void)model.forward(random({5, 3}), random({2, 4}), random({2, 5}));
      },
      "[Lstm] state is (2, 5), not (2, 4)");
}

BOOST_AUTO_TEST_SUITE_END()

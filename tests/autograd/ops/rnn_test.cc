#include "autograd/ops/rnn.h"

#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(ops_rnn)

namespace {

struct Random {
  Generator generator{7};
  Variable operator()(const Shape& shape) {
    return Variable(uniform(shape, -0.8, 0.8, generator, DType::f64), RequiresGrad::yes);
  }
  /// Returns x (3, 2, 3), the parameters of `gates` blocks of 2, a hidden state and a cell.
  std::vector<Variable> inputs(std::int64_t gates) {
    return {(*this)({3, 2, 3}),   (*this)({gates * 2, 3}), (*this)({gates * 2, 2}), (*this)({gates * 2}),
            (*this)({gates * 2}), (*this)({2, 2}),         (*this)({2, 2})};
  }
};

RnnParameters parameters(Inputs v) { return {v[1], v[2], v[3], v[4]}; }

/// Returns all results as one variable, so that each has a gradient.
Variable joined(const RnnOutputs& outputs) {
  std::vector<Variable> parts{outputs.output, unsqueeze(outputs.hidden, 0)};
  if (outputs.cell.defined()) parts.push_back(unsqueeze(outputs.cell, 0));
  return concat(parts, 0);
}

constexpr std::array kDirections{TimeDirection::forward, TimeDirection::reverse};

}  // namespace

BOOST_AUTO_TEST_CASE(recurrent_layers_agree_with_finite_differences_in_both_directions) {
  for (const TimeDirection direction : kDirections) {
    expect_gradcheck([&](Inputs v) { return joined(lstm(v[0], parameters(v), v[5], v[6], direction)); },
                     Random().inputs(4));
    auto without_cell = [](std::int64_t gates) {
      std::vector<Variable> inputs = Random().inputs(gates);
      inputs.pop_back();
      return inputs;
    };
    expect_gradcheck([&](Inputs v) { return joined(gru(v[0], parameters(v), v[5], direction)); }, without_cell(3));
    expect_gradcheck([&](Inputs v) { return joined(rnn(v[0], parameters(v), v[5], RnnNonlinearity::tanh, direction)); },
                     without_cell(1));
    expect_gradcheck([&](Inputs v) { return joined(rnn(v[0], parameters(v), v[5], RnnNonlinearity::relu, direction)); },
                     without_cell(1));
  }
}

BOOST_AUTO_TEST_CASE(layers_without_biases_and_states_agree_with_finite_differences) {
  const auto few = [](std::int64_t gates) {
    std::vector<Variable> inputs = Random().inputs(gates);
    inputs.resize(3);
    return inputs;
  };
  expect_gradcheck([](Inputs v) { return joined(lstm(v[0], {v[1], v[2], {}, {}})); }, few(4));
  expect_gradcheck([](Inputs v) { return joined(gru(v[0], {v[1], v[2], {}, {}})); }, few(3));
  expect_gradcheck([](Inputs v) { return joined(rnn(v[0], {v[1], v[2], {}, {}})); }, few(1));
}

BOOST_AUTO_TEST_CASE(each_result_of_an_lstm_alone_has_a_gradient) {
  expect_gradcheck([](Inputs v) { return lstm(v[0], parameters(v), v[5], v[6]).output; }, Random().inputs(4));
  expect_gradcheck([](Inputs v) { return lstm(v[0], parameters(v), v[5], v[6]).hidden; }, Random().inputs(4));
  expect_gradcheck([](Inputs v) { return lstm(v[0], parameters(v), v[5], v[6]).cell; }, Random().inputs(4));
  expect_gradcheck([](Inputs v) { return gru(v[0], parameters(v), v[5]).hidden; },
                   [] {
                     std::vector<Variable> inputs = Random().inputs(3);
                     inputs.pop_back();
                     return inputs;
                   }());
}

BOOST_AUTO_TEST_CASE(only_what_requires_a_gradient_gets_one_and_it_is_the_same) {
  const std::vector<Variable> all = Random().inputs(4);
  const auto gradients_with = [&](std::size_t only) {
    std::vector<Variable> inputs;
    for (std::size_t i = 0; i < all.size(); ++i) {
      inputs.emplace_back(all[i].value(), only == i || only == all.size() ? RequiresGrad::yes : RequiresGrad::no);
    }
    const Gradients found = backward(sum(joined(lstm(inputs[0], parameters(inputs), inputs[5], inputs[6]))));
    std::vector<Tensor> result;
    for (const Variable& input : inputs) result.push_back(found.of(input));
    return result;
  };
  const std::vector<Tensor> expected = gradients_with(all.size());
  for (std::size_t only = 0; only < all.size(); ++only) {
    const std::vector<Tensor> found = gradients_with(only);
    for (std::size_t i = 0; i < all.size(); ++i) {
      BOOST_CHECK_MESSAGE(same_bytes(found[i], i == only ? expected[i] : Tensor()), "input " << i << " of " << only);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_layer_is_one_vertex_and_its_graph_runs_twice) {
  const std::vector<Variable> v = Random().inputs(4);
  const RnnOutputs outputs = lstm(v[0], parameters(v), v[5], v[6]);
  BOOST_CHECK(outputs.output.gradient_edge().fn == outputs.cell.gradient_edge().fn);
  BOOST_CHECK_EQUAL(outputs.output.gradient_edge().fn->name(), "lstm");
  const Variable loss = sum(outputs.output);
  const Tensor first = backward(loss).of(v[2]);
  BOOST_CHECK(same_bytes(backward(loss).of(v[2]), first));
}

BOOST_AUTO_TEST_CASE(a_pass_that_releases_its_graph_lets_go_of_what_the_layer_kept) {
  const std::vector<Variable> v = Random().inputs(4);
  const Tensor x = v[0].value();
  const auto handles_before = x.storage().handle_count();
  const RnnOutputs outputs = lstm(v[0], parameters(v), v[5], v[6]);
  BOOST_CHECK(x.storage().handle_count() > handles_before);
  BOOST_CHECK(backward(sum(outputs.output), {.graph = Graph::release}).of(v[0]).defined());
  BOOST_CHECK_EQUAL(x.storage().handle_count(), handles_before);
}

BOOST_AUTO_TEST_CASE(without_a_gradient_nothing_is_recorded) {
  const std::vector<Variable> v = Random().inputs(4);
  const NoGradGuard guard;
  const RnnOutputs outputs = lstm(v[0], parameters(v), v[5], v[6]);
  BOOST_CHECK(!outputs.output.requires_grad() && !outputs.hidden.requires_grad() && !outputs.cell.requires_grad());
}

BOOST_AUTO_TEST_CASE(a_result_that_was_written_to_fails_the_pass) {
  const std::vector<Variable> v = Random().inputs(1);
  const RnnOutputs outputs = rnn(v[0], parameters(v), v[5]);
  Tensor written = outputs.output.value();
  written.fill(1.0);
  BOOST_CHECK_THROW((void)backward(sum(outputs.output)), BackwardError);
}

BOOST_AUTO_TEST_SUITE_END()

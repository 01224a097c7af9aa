#include "tensor/ops/rnn.h"

#include <cmath>

#include "tensor/create.h"
#include "tensor/math_threads.h"
#include "tensor/ops.h"
#include "tests/support/said_to_be_on.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(ops_rnn)

namespace {

Tensor column(std::initializer_list<double> values) {
  return from_values<double>(values, {static_cast<std::int64_t>(values.size()), 1});
}

/// Returns weights for one input and one hidden number, block by block; no biases.
RnnWeights weights(std::initializer_list<double> input, std::initializer_list<double> hidden) {
  return {column(input), column(hidden), {}, {}};
}

Tensor series(std::initializer_list<double> x) {
  return from_values<double>(x, {static_cast<std::int64_t>(x.size()), 1, 1});
}

double sigmoid_of(double x) { return 1.0 / (1.0 + std::exp(-x)); }

struct Random {
  Generator generator{7};
  Tensor operator()(const Shape& shape) { return uniform(shape, -0.8, 0.8, generator, DType::f64); }
  RnnWeights weights(std::int64_t gates, std::int64_t inputs, std::int64_t hidden) {
    return {(*this)({gates * hidden, inputs}), (*this)({gates * hidden, hidden}), (*this)({gates * hidden}),
            (*this)({gates * hidden})};
  }
};

RnnWeights to(const RnnWeights& w, DType dtype) {
  return {w.input.to(dtype), w.hidden.to(dtype), w.input_bias.to(dtype), w.hidden_bias.to(dtype)};
}

/// The formulas of torch's documentation, step by step, for a layer with biases.
Tensor lstm_by_definition(const Tensor& x, const RnnWeights& w, Tensor h, Tensor c) {
  std::vector<Tensor> outputs;
  for (std::int64_t t = 0; t < x.size(0); ++t) {
    const Tensor sums =
        matmul(x.select(0, t), w.input.transpose()) + w.input_bias + matmul(h, w.hidden.transpose()) + w.hidden_bias;
    const std::vector<Tensor> gate = chunk(sums, 4, 1);
    c = sigmoid(gate[1]) * c + sigmoid(gate[0]) * tanh(gate[2]);
    h = sigmoid(gate[3]) * tanh(c);
    outputs.push_back(h);
  }
  return stack(outputs, 0);
}

Tensor gru_by_definition(const Tensor& x, const RnnWeights& w, Tensor h) {
  std::vector<Tensor> outputs;
  for (std::int64_t t = 0; t < x.size(0); ++t) {
    const std::vector<Tensor> in = chunk(matmul(x.select(0, t), w.input.transpose()) + w.input_bias, 3, 1);
    const std::vector<Tensor> back = chunk(matmul(h, w.hidden.transpose()) + w.hidden_bias, 3, 1);
    const Tensor r = sigmoid(in[0] + back[0]);
    const Tensor z = sigmoid(in[1] + back[1]);
    h = (1.0 - z) * tanh(in[2] + r * back[2]) + z * h;
    outputs.push_back(h);
  }
  return stack(outputs, 0);
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_lstm_forgets_half_and_takes_half_when_its_gates_see_nothing) {
  // Gates i, f and o are sigmoid(0) = 1/2; g = tanh(x * atanh(1/2)) is 1/2, then 0.
  const RnnResult result =
      lstm(series({1.0, 0.0}), weights({0.0, 0.0, std::atanh(0.5), 0.0}, {0.0, 0.0, 0.0, 0.0}), {}, column({2.0}));
  // c: 2/2 + 1/2 * 1/2 = 1.25, then 1.25/2 + 0 = 0.625
  expect_close(result.output, series({0.5 * std::tanh(1.25), 0.5 * std::tanh(0.625)}), 1e-15);
  expect_close(result.cell, column({0.625}), 1e-15);
  expect_close(result.hidden, column({0.5 * std::tanh(0.625)}), 1e-15);
}

BOOST_AUTO_TEST_CASE(each_gate_of_an_lstm_sees_the_hidden_state) {
  const RnnResult result =
      lstm(series({0.0}), weights({0.0, 0.0, 0.0, 0.0}, {1.0, 2.0, 3.0, 4.0}), column({0.5}), column({1.0}));
  const double c = sigmoid_of(1.0) * 1.0 + sigmoid_of(0.5) * std::tanh(1.5);
  expect_close(result.cell, column({c}), 1e-15);
  expect_close(result.hidden, column({sigmoid_of(2.0) * std::tanh(c)}), 1e-15);
}

BOOST_AUTO_TEST_CASE(a_gru_resets_the_hidden_side_of_its_candidate) {
  // r = sigmoid(1 * 1), z = sigmoid(-1 * 1), n = tanh(0.5 * 1 + r * (2 * h + 0.25))
  RnnWeights w = weights({1.0, -1.0, 0.5}, {0.0, 0.0, 2.0});
  w.hidden_bias = from_values<double>({0.0, 0.0, 0.25});
  const double n = std::tanh(0.5 + sigmoid_of(1.0) * (2.0 * 0.75 + 0.25));
  const double z = sigmoid_of(-1.0);
  expect_close(gru(series({1.0}), w, column({0.75})).hidden, column({(1.0 - z) * n + z * 0.75}), 1e-15);
}

BOOST_AUTO_TEST_CASE(a_plain_layer_adds_input_and_state) {
  const RnnWeights w = weights({2.0}, {-1.0});
  // 2 * 1 - 0 = 2, 2 * 0 - 2 = -2 -> 0, 2 * 3 - 0 = 6
  expect_close(rnn(series({1.0, 0.0, 3.0}), w, {}, RnnNonlinearity::relu).output, series({2.0, 0.0, 6.0}), 1e-15);
  const double first = std::tanh(2.0);
  expect_close(rnn(series({1.0, 0.0}), w).output, series({first, std::tanh(-first)}), 1e-15);
}

BOOST_AUTO_TEST_CASE(results_are_those_of_the_definition) {
  Random random;
  const Tensor x = random({5, 3, 4});
  const Tensor h = random({3, 6});
  const Tensor c = random({3, 6});
  const RnnWeights four = random.weights(4, 4, 6);
  expect_close(lstm(x, four, h, c).output, lstm_by_definition(x, four, h, c), 1e-12, 1e-14);
  const RnnWeights three = random.weights(3, 4, 6);
  expect_close(gru(x, three, h).output, gru_by_definition(x, three, h), 1e-12, 1e-14);
}

BOOST_AUTO_TEST_CASE(a_reverse_layer_is_a_layer_over_time_turned_round) {
  Random random;
  const Tensor x = random({5, 3, 4});
  const Tensor h = random({3, 6});
  const Tensor c = random({3, 6});
  const RnnWeights four = random.weights(4, 4, 6);
  const RnnResult reverse = lstm(x, four, h, c, TimeDirection::reverse);
  const RnnResult turned = lstm(flip(x, {0}), four, h, c);
  expect_close(reverse.output, flip(turned.output, {0}), 1e-13, 1e-15);
  expect_close(reverse.hidden, turned.hidden, 1e-13, 1e-15);
  expect_close(reverse.cell, turned.cell, 1e-13, 1e-15);
  const RnnWeights three = random.weights(3, 4, 6);
  expect_close(gru(x, three, h, TimeDirection::reverse).output, flip(gru(flip(x, {0}), three, h).output, {0}), 1e-13,
               1e-15);
}

BOOST_AUTO_TEST_CASE(an_undefined_state_or_bias_is_zeros) {
  Random random;
  const Tensor x = random({3, 2, 4});
  RnnWeights w = random.weights(3, 4, 5);
  w.input_bias = zeros({15}, DType::f64);
  w.hidden_bias = zeros({15}, DType::f64);
  expect_close(gru(x, {w.input, w.hidden, {}, {}}).output, gru(x, w, zeros({2, 5}, DType::f64)).output, 1e-14, 1e-15);
  RnnWeights one_bias = random.weights(3, 4, 5);
  one_bias.input_bias = {};
  RnnWeights both = one_bias;
  both.input_bias = zeros({15}, DType::f64);
  expect_close(gru(x, one_bias).output, gru(x, both).output, 1e-14, 1e-15);
}

BOOST_AUTO_TEST_CASE(the_layout_does_not_matter) {
  Random random;
  const Tensor x = random({2, 3, 4});
  const RnnWeights w = random.weights(4, 4, 5);
  const RnnWeights strided{w.input.transpose().clone().transpose(), w.hidden.transpose().clone().transpose(),
                           stack(std::vector<Tensor>{w.input_bias, w.input_bias}, 1).select(1, 0), w.hidden_bias};
  const Tensor turned = x.transpose(0, 1).clone().transpose(0, 1);
  expect_close(lstm(turned, strided).output, lstm(x, w).output, 1e-13, 1e-15);
}

BOOST_AUTO_TEST_CASE(a_wide_layer_on_two_threads_gives_what_one_thread_gives) {
  Generator generator(3);
  const Tensor x = randn({3, 40, 64}, generator);
  const RnnWeights w{
      randn({512, 64}, generator) * 0.1, randn({512, 128}, generator) * 0.1, randn({512}, generator), {}};
  const Tensor on_two = [&] {
    const MathThreads threads(2);
    return lstm(x, w).output;
  }();
  const MathThreads threads(1);
  expect_close(lstm(x, w).output, on_two, 1e-5, 1e-6);
  expect_close(
      lstm(x.to(DType::f64), {w.input.to(DType::f64), w.hidden.to(DType::f64), w.input_bias.to(DType::f64), {}})
          .output.to(DType::f32),
      on_two, 1e-5, 1e-6);
}

BOOST_AUTO_TEST_CASE(half_floats_are_computed_in_f32_from_the_first_step_to_the_last) {
  Random random;
  const Tensor x = random({4, 2, 3});
  const RnnWeights w = random.weights(4, 3, 5);
  for (const DType dtype : kDTypesOf16BitFloats) {
    const RnnResult got = lstm(x.to(dtype), to(w, dtype));
    const RnnResult expected = lstm(x.to(dtype).to(DType::f32), to(to(w, dtype), DType::f32));
    expect_same(got.output, expected.output.to(dtype));
    expect_same(got.cell, expected.cell.to(dtype));
  }
  BOOST_CHECK(gru(x.to(DType::f32), random.weights(3, 3, 5)).output.dtype() == DType::f64);
}

BOOST_AUTO_TEST_CASE(a_batch_of_nobody_has_an_empty_result_and_weights_without_slope) {
  Random random;
  const RnnWeights w = random.weights(3, 4, 5);
  const RnnResult result = gru(zeros({2, 0, 4}, DType::f64), w);
  BOOST_CHECK(result.output.shape() == (Shape{2, 0, 5}));
  BOOST_CHECK(result.hidden.shape() == (Shape{0, 5}));
  const RnnStepGradients steps = rnn_backward({result.output, {}, {}}, result.tape);
  expect_same(rnn_backward_hidden_weight(steps.from_hidden, result.tape), zeros({15, 5}, DType::f64));
}

BOOST_AUTO_TEST_CASE(backward_through_time_has_the_gradients_worked_out_by_hand) {
  // h1 = relu(2 * 1 + 0.5 * 4) = 4, h2 = relu(2 * 3 + 0.5 * 4) = 8; from h2 alone:
  const RnnResult result = rnn(series({1.0, 3.0}), weights({2.0}, {0.5}), column({4.0}), RnnNonlinearity::relu);
  expect_close(result.output, series({4.0, 8.0}), 1e-15);
  const RnnStepGradients steps = rnn_backward({{}, column({1.0}), {}}, result.tape);
  expect_close(steps.from_input, series({0.5, 1.0}), 1e-15);
  expect_close(steps.hidden, column({0.25}), 1e-15);
  expect_close(rnn_backward_input_weight(steps.from_input, series({1.0, 3.0})), column({3.5}), 1e-15);  // 0.5*1 + 1*3
  expect_close(rnn_backward_hidden_weight(steps.from_hidden, result.tape), column({6.0}), 1e-15);       // 0.5*4 + 1*4
  // The sum that is NaN passes the gradient on, as relu_backward.
  const RnnResult broken = rnn(series({std::nan("")}), weights({2.0}, {0.5}), {}, RnnNonlinearity::relu);
  expect_close(rnn_backward({{}, column({3.0}), {}}, broken.tape).from_input, series({3.0}), 0.0);
}

BOOST_AUTO_TEST_CASE(gradients_on_another_device_than_the_tape_are_refused) {
  Random random;
  const RnnResult result = lstm(random({5, 2, 3}), random.weights(4, 3, 6));
  const auto there = [](const Tensor& x) { return testing::said_to_be_on(Device::cuda(), x); };
  for (const RnnResultGradients& given :
       {RnnResultGradients{there(result.output), {}, {}}, RnnResultGradients{{}, there(result.hidden), {}},
        RnnResultGradients{result.output, result.hidden, there(result.cell)}}) {
    expect_error<DeviceError>("[rnn_backward] devices differ: cuda:0 and cpu",
                              [&] { (void)rnn_backward(given, result.tape); });
  }
}

BOOST_AUTO_TEST_CASE(sizes_that_differ_are_named) {
  Random random;
  const Tensor x = random({5, 2, 3});
  const RnnWeights w = random.weights(4, 3, 6);
  const auto with = [&](auto change) {
    RnnWeights other = w;
    change(other);
    return other;
  };
  expect_error<ShapeError>("[lstm] no time steps: (0, 2, 3)", [&] { (void)lstm(x.slice(0, 0, 0), w); });
  expect_error<ShapeError>("[lstm] not 3 dimensions: (2, 3)", [&] { (void)lstm(x.select(0, 0), w); });
  expect_error<ShapeError>("[lstm] sizes differ: x (5, 2, 3), input weight (24, 4) instead of (24, 3)", [&] {
    (void)lstm(x, with([&](RnnWeights& o) { o.input = random({24, 4}); }));
  });
  expect_error<ShapeError>("[gru] sizes differ: x (5, 2, 3), input weight (24, 3) instead of (18, 3)",
                           [&] { (void)gru(x, w); });
  expect_error<ShapeError>("[lstm] sizes differ: x (5, 2, 3), hidden weight (23, 6) instead of (24, 6)", [&] {
    (void)lstm(x, with([&](RnnWeights& o) { o.hidden = random({23, 6}); }));
  });
  expect_error<ShapeError>("[lstm] sizes differ: x (5, 2, 3), input bias (6) instead of (24)",
                           [&] { (void)lstm(x, with([&](RnnWeights& o) { o.input_bias = random({6}); })); });
  expect_error<ShapeError>("[lstm] sizes differ: x (5, 2, 3), hidden bias (6) instead of (24)",
                           [&] { (void)lstm(x, with([&](RnnWeights& o) { o.hidden_bias = random({6}); })); });
  expect_error<ShapeError>("[lstm] sizes differ: x (5, 2, 3), hidden state (1, 6) instead of (2, 6)", [&] {
    (void)lstm(x, w, random({1, 6}));
  });
  expect_error<ShapeError>("[lstm] sizes differ: x (5, 2, 3), cell state (2, 5) instead of (2, 6)", [&] {
    (void)lstm(x, w, {}, random({2, 5}));
  });
  expect_error<TensorError>("[rnn] tensor is undefined", [&] { (void)rnn(x, {}); });
  const RnnWeights integers{zeros({6, 3}, DType::i64), zeros({6, 6}, DType::i64), {}, {}};
  expect_error<DTypeError>("[rnn] not floating: i64", [&] { (void)rnn(zeros({5, 2, 3}, DType::i64), integers); });
}

BOOST_AUTO_TEST_SUITE_END()

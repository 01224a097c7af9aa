// Runs the bodies of the GPU kernels on the CPU and compares them with the CPU kernels.
#include "tensor/cuda/recurrent_kernels.h"

#include <cmath>

#include "tensor/create.h"
#include "tensor/kernels/matmul.h"
#include "tests/tensor/cuda/host_launcher.h"
#include "tests/tensor/expect.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_recurrent_kernels)

namespace {

constexpr auto kMultiply = [](Tensor& out, const Tensor& x, const Tensor& y) { cpu::matmul_kernels.matmul(out, x, y); };

constexpr std::int64_t kSteps = 4;
constexpr std::int64_t kExamples = 3;
constexpr std::int64_t kHidden = 5;

/// A layer with all its values.
struct Layer {
  RnnCell cell;
  DType dtype;
  Generator generator{7};

  [[nodiscard]] std::int64_t wide() const { return kHidden * kernels::gate_count(cell); }
  Tensor numbers(const Shape& shape) { return uniform(shape, -1.0, 1.0, generator, dtype); }
  Tensor steps(bool wanted) { return wanted ? numbers({kSteps, kExamples, kHidden}) : Tensor(); }

  /// Output tensors contain other numbers before the call.
  RnnTape tape(TimeDirection direction, bool first) {
    const bool is_lstm = cell == RnnCell::lstm;
    return {.cell = cell,
            .direction = direction,
            .hidden_weight = numbers({wide(), kHidden}),
            .first_hidden = first ? numbers({kExamples, kHidden}) : Tensor(),
            .first_cell = first && is_lstm ? numbers({kExamples, kHidden}) : Tensor(),
            .gates = numbers({kSteps, kExamples, wide()}),
            .cells = steps(is_lstm),
            .tanh_cells = steps(is_lstm),
            .candidates = steps(cell == RnnCell::gru),
            .output = steps(true)};
  }
  kernels::RecurrentGradients gradients(bool by_output) {
    return {.by_output = steps(by_output),
            .by_hidden = numbers({kExamples, kHidden}),
            .by_cell = cell == RnnCell::lstm ? numbers({kExamples, kHidden}) : Tensor(),
            .by_gates = numbers({kSteps, kExamples, wide()}),
            .by_from_hidden = cell == RnnCell::gru ? numbers({kSteps, kExamples, wide()}) : Tensor()};
  }
};

Tensor copy(const Tensor& x) { return x.defined() ? x.clone() : x; }

RnnTape copy(const RnnTape& t) {
  return {t.cell,        t.direction,   t.hidden_weight,    t.first_hidden,     t.first_cell,
          copy(t.gates), copy(t.cells), copy(t.tanh_cells), copy(t.candidates), copy(t.output)};
}
kernels::RecurrentGradients copy(const kernels::RecurrentGradients& g) {
  return {g.by_output, copy(g.by_hidden), copy(g.by_cell), copy(g.by_gates), copy(g.by_from_hidden)};
}

void expect_near(const Tensor& got, const Tensor& expected) {
  BOOST_REQUIRE(got.defined() == expected.defined());
  const double tolerance = expected.defined() && expected.dtype() == DType::f64 ? 1e-13 : 1e-5;
  if (expected.defined()) expect_close(got, expected, tolerance, tolerance);
}

void expect_as_on_cpu(Layer layer, TimeDirection direction, bool first, bool biased) {
  RnnTape got = layer.tape(direction, first);
  RnnTape expected = copy(got);
  const Tensor bias = biased ? layer.numbers({layer.wide()}) : Tensor();
  const Tensor candidate_bias = biased && layer.cell == RnnCell::gru ? layer.numbers({kHidden}) : Tensor();
  cuda::recurrent_with(kHost, kMultiply, got, bias, candidate_bias);
  cpu::recurrent_kernels.recurrent(expected, bias, candidate_bias);
  expect_near(got.output, expected.output);
  expect_near(got.gates, expected.gates);
  expect_near(got.cells, expected.cells);
  expect_near(got.tanh_cells, expected.tanh_cells);
  expect_near(got.candidates, expected.candidates);
  if (layer.cell == RnnCell::tanh || layer.cell == RnnCell::relu) expected.gates = {};  // as tensor/ops/rnn.cc does
  for (const bool by_output : {false, true}) {
    kernels::RecurrentGradients by = layer.gradients(by_output);
    kernels::RecurrentGradients expected_by = copy(by);
    cuda::recurrent_backward_with(kHost, kMultiply, expected, by);
    cpu::recurrent_kernels.recurrent_backward(expected, expected_by);
    expect_near(by.by_hidden, expected_by.by_hidden);
    expect_near(by.by_cell, expected_by.by_cell);
    expect_near(by.by_gates, expected_by.by_gates);
    expect_near(by.by_from_hidden, expected_by.by_from_hidden);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(all_steps_of_every_cell_and_its_gradients_are_close_to_the_cpus) {
  for (const RnnCell cell : {RnnCell::lstm, RnnCell::gru, RnnCell::tanh, RnnCell::relu}) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      for (const TimeDirection direction : {TimeDirection::forward, TimeDirection::reverse}) {
        for (const bool first : {false, true}) {
          for (const bool biased : {false, true}) expect_as_on_cpu({cell, dtype}, direction, first, biased);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(one_step_of_one_number_is_what_is_worked_out_by_hand) {
  // Sums i = 0, f = 0, g = ln 2, o = 0: i = f = o = 1/2, g = (4 - 1) / (4 + 1) = 3/5. Cell: 1/2 * 2 + 1/2 * 3/5 = 1.3.
  RnnTape tape{.cell = RnnCell::lstm,
               .direction = TimeDirection::forward,
               .hidden_weight = zeros({4, 1}, DType::f64),
               .first_hidden = {},
               .first_cell = full({1, 1}, 2.0, DType::f64),
               .gates = from_values<double>({0.0, 0.0, std::log(2.0), 0.0}, {1, 1, 4}),
               .cells = zeros({1, 1, 1}, DType::f64),
               .tanh_cells = zeros({1, 1, 1}, DType::f64),
               .candidates = {},
               .output = zeros({1, 1, 1}, DType::f64)};
  cuda::recurrent_with(kHost, kMultiply, tape, {}, {});
  expect_close(tape.gates, from_values<double>({0.5, 0.5, 0.6, 0.5}, {1, 1, 4}), 1e-15);
  expect_close(tape.cells, full({1, 1, 1}, 1.3, DType::f64), 1e-15);
  expect_close(tape.output, full({1, 1, 1}, 0.5 * std::tanh(1.3), DType::f64), 1e-15);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe

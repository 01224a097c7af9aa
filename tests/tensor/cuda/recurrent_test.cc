#include "tensor/kernels/recurrent.h"

#include "tensor/create.h"
#include "tensor/ops/rnn.h"
#include "tests/tensor/cuda/on_gpu.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_recurrent, *boost::unit_test::precondition(testing::NeedsGpus{1}))

namespace {

using testing::expect_close_on_gpu;
using testing::kFloats;
using testing::NeedsGpus;
using testing::tolerance_of;

Tensor numbers(const Shape& shape, DType dtype, std::uint64_t seed) {
  Generator generator(seed);
  return uniform(shape, -0.5, 0.5, generator, dtype);
}

RnnResult run(RnnCell cell, const Tensor& x, const RnnWeights& w, const Tensor& h, const Tensor& c,
              TimeDirection direction) {
  switch (cell) {
    case RnnCell::lstm: return lstm(x, w, h, c, direction);
    case RnnCell::gru: return gru(x, w, h, direction);
    case RnnCell::tanh: return rnn(x, w, h, RnnNonlinearity::tanh, direction);
    default: return rnn(x, w, h, RnnNonlinearity::relu, direction);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(layers_of_every_cell_and_their_gradients_are_close_to_the_cpus) {
  for (const RnnCell cell : {RnnCell::lstm, RnnCell::gru, RnnCell::tanh, RnnCell::relu}) {
    for (const DType dtype : kFloats) {
      const double rtol = 50 * tolerance_of(dtype);
      const std::int64_t wide = 20 * kernels::gate_count(cell);
      const Tensor x = numbers({7, 6, 9}, dtype, 1);
      const Tensor state = numbers({6, 20}, dtype, 2);
      const Tensor input = numbers({wide, 9}, dtype, 3);
      const Tensor hidden = numbers({wide, 20}, dtype, 4);
      const Tensor bias = numbers({wide}, dtype, 5);
      const Tensor grad = numbers({7, 6, 20}, dtype, 6);
      for (const TimeDirection direction : {TimeDirection::forward, TimeDirection::reverse}) {
        const auto forward = [&](const Tensor& y, const Tensor& s, const Tensor& wi, const Tensor& wh,
                                 const Tensor& b) {
          return run(cell, y, {wi, wh, b, b}, s, s, direction);
        };
        expect_close_on_gpu(
            rtol, rtol, [&](const auto&... t) { return forward(t...).output; }, x, state, input, hidden, bias);
        expect_close_on_gpu(
            rtol, rtol, [&](const auto&... t) { return forward(t...).hidden; }, x, state, input, hidden, bias);
        const auto slope = [&](int part) {
          return [&, part](const Tensor& g, const auto& y, const auto&... t) {
            const RnnTape tape = forward(y, t...).tape;
            const RnnStepGradients by = rnn_backward({.output = g, .hidden = {}, .cell = {}}, tape);
            if (part == 0) return by.hidden;
            if (part == 1) return by.from_input;
            return part == 2 ? rnn_backward_input_weight(by.from_input, y)
                             : rnn_backward_hidden_weight(by.from_hidden, tape);
          };
        };
        for (const int part : {0, 1, 2, 3})
          expect_close_on_gpu(rtol, 10 * rtol, slope(part), grad, x, state, input, hidden, bias);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe

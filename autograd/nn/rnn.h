// Stacked recurrent layers, in one or both directions. Parameters, names and results are those of torch.nn.LSTM, GRU
// and RNN.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "autograd/nn/linear.h"
#include "autograd/nn/module.h"
#include "autograd/ops/rnn.h"
#include "tensor/generator.h"

namespace troupe::nn {

/// Options of Rnn, Lstm and Gru.
struct RnnOptions {
  std::int64_t layers = 1;
  Bias bias = Bias::yes;
  bool batch_first = false;    ///< x and output are (n, t, ...) instead of (t, n, ...); the shape of states is the same
  double dropout = 0.0;        ///< probability of dropping an element between two layers in training
  bool bidirectional = false;  ///< adds to each layer one that reads backwards; their outputs are concatenated
  DType dtype = DType::f32;
};

/// Base of Rnn, Lstm and Gru. With d = 1 or 2 directions, parameters are weight_ih_l0 (g * hidden, inputs),
/// weight_hh_l0 (g * hidden, hidden), bias_ih_l0, bias_hh_l0, then those of l0_reverse, l1, .... Later layers have d *
/// hidden inputs. All start uniform in +-1 / sqrt(hidden).
///
/// Shapes: x (t, n, inputs) or (t, inputs) -> output of the last layer (t, n, d * hidden) or (t, d * hidden); states
/// (layers * d, n, hidden) or (layers * d, hidden), the directions of each layer adjacent.
/// Throws ShapeError `[Lstm] x is not (steps, examples, 3): (5, 2, 4)` or `[Lstm] state is (1, 2, 6), not (2, 2, 6)`.
///
/// forward() is thread-safe, except in training with dropout: it then draws from the module's own generator.
class RecurrentModule : public Module {
 protected:
  /// Throws ValueError `[Lstm] sizes below 1: 3 -> 0, layers 1` or `[Lstm] dropout outside [0, 1): 1.5`.
  RecurrentModule(const char* name, std::int64_t gates, std::int64_t inputs, std::int64_t hidden, Generator& generator,
                  const RnnOptions& options);

  using OneLayer = std::function<RnnOutputs(const Variable& x, const RnnParameters& parameters, const Variable& hidden,
                                            const Variable& cell, TimeDirection direction)>;
  RnnOutputs run(const Variable& x, const Variable& hidden, const Variable& cell, const OneLayer& one_layer);

 private:
  RnnParameters add_layer(const std::string& suffix, std::int64_t gates, std::int64_t inputs, Generator& generator);
  RnnOutputs run_batch(const Variable& x, const Variable& hidden, const Variable& cell, const OneLayer& one_layer);
  void check_state(const Variable& state, const Shape& wanted) const;

  const char* name_;
  std::int64_t inputs_;
  std::int64_t hidden_;
  RnnOptions options_;
  std::vector<RnnParameters> parameters_;  ///< by layer, then by direction
  Generator generator_;
};

/// lstm() in layers. Gate order i, f, g, o.
class Lstm final : public RecurrentModule {
 public:
  Lstm(std::int64_t inputs, std::int64_t hidden, Generator& generator, const RnnOptions& options = {})
      : RecurrentModule("Lstm", 4, inputs, hidden, generator, options) {}

  /// An undefined state stands for zeros.
  [[nodiscard]] RnnOutputs forward(const Variable& x, const Variable& hidden = {}, const Variable& cell = {});
};

/// gru() in layers. Gate order r, z, n.
class Gru final : public RecurrentModule {
 public:
  Gru(std::int64_t inputs, std::int64_t hidden, Generator& generator, const RnnOptions& options = {})
      : RecurrentModule("Gru", 3, inputs, hidden, generator, options) {}

  /// An undefined state stands for zeros.
  [[nodiscard]] RnnOutputs forward(const Variable& x, const Variable& hidden = {});
};

/// rnn() in layers.
class Rnn final : public RecurrentModule {
 public:
  Rnn(std::int64_t inputs, std::int64_t hidden, Generator& generator, const RnnOptions& options = {},
      RnnNonlinearity nonlinearity = RnnNonlinearity::tanh)
      : RecurrentModule("Rnn", 1, inputs, hidden, generator, options), nonlinearity_(nonlinearity) {}

  /// An undefined state stands for zeros.
  [[nodiscard]] RnnOutputs forward(const Variable& x, const Variable& hidden = {});

 private:
  RnnNonlinearity nonlinearity_;
};

}  // namespace troupe::nn

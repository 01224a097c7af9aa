#include "autograd/ops/rnn.h"

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "autograd/record.h"
#include "tensor/ops.h"

namespace troupe {
namespace {

using detail::edges_of;
using detail::Saved;
using detail::value_or_undefined;

/// The values of a layer's inputs, and the edges to them.
struct Given {
  Given(const Variable& x_given, const RnnParameters& parameters, const Variable& hidden_given,
        const Variable& cell_given)
      : x(x_given.value()),
        weights{parameters.input.value(), parameters.hidden.value(), value_or_undefined(parameters.input_bias),
                value_or_undefined(parameters.hidden_bias)},
        hidden(value_or_undefined(hidden_given)),
        cell(same(hidden_given, cell_given) ? hidden : value_or_undefined(cell_given)),
        edges(edges_of({&x_given, &parameters.input, &parameters.hidden, &parameters.input_bias,
                        &parameters.hidden_bias, &hidden_given, &cell_given})) {}

  Tensor x;
  RnnWeights weights;
  Tensor hidden;
  Tensor cell;
  std::vector<Edge> edges;  ///< to x, weights, biases, hidden, cell; empty if nothing is recorded
};

/// The data that a layer saves for backward.
struct Kept {
  Kept(const Given& given, RnnTape taped)
      : input_weight(given.edges[0] ? Saved(given.weights.input) : Saved()),
        x(given.edges[1] ? Saved(given.x) : Saved()),
        seen_by_others{Saved(taped.hidden_weight), Saved(taped.first_hidden), Saved(taped.first_cell),
                       Saved(taped.output)},
        tape(std::move(taped)),
        dtypes{given.x.dtype(),
               given.weights.input.dtype(),
               given.weights.hidden.dtype(),
               given.weights.input_bias.dtype(),
               given.weights.hidden_bias.dtype(),
               given.hidden.dtype(),
               given.cell.dtype()} {}

  Saved input_weight;
  Saved x;
  std::array<Saved, 4> seen_by_others;  ///< the tensors of the tape whose memory others share
  RnnTape tape;
  std::array<DType, 7> dtypes;  ///< of the seven inputs, in the order of Given::edges
};

class RecurrentFn final : public GradFn {
 public:
  RecurrentFn(std::string_view name, Kept kept, std::vector<Edge> inputs, std::uint32_t outputs)
      : GradFn(name, VertexKind::operation, std::move(inputs), outputs), kept_(std::move(kept)) {}

  [[nodiscard]] std::vector<Tensor> apply(std::vector<Tensor> gradients) const override {
    return apply_to(std::move(gradients), next());
  }

  [[nodiscard]] std::vector<Tensor> apply_to(std::vector<Tensor> gradients, std::span<const Edge> to) const override {
    const Kept& kept = *kept_;
    for (const Saved& saved : kept.seen_by_others) static_cast<void>(saved.get());
    gradients.resize(3);
    const RnnStepGradients steps = rnn_backward({gradients[0], gradients[1], gradients[2]}, kept.tape);
    std::vector<Tensor> result(to.size());
    if (to[0]) result[0] = matmul(steps.from_input, kept.input_weight.get().to(steps.from_input.dtype()));
    if (to[1]) result[1] = rnn_backward_input_weight(steps.from_input, kept.x.get());
    if (to[2]) result[2] = rnn_backward_hidden_weight(steps.from_hidden, kept.tape);
    if (to[3]) result[3] = sum(steps.from_input, {0, 1});
    const bool same_bias = kept.tape.cell != RnnCell::gru && to[3];
    if (to[4]) result[4] = same_bias ? result[3] : sum(steps.from_hidden, {0, 1});
    if (to[5]) result[5] = steps.hidden;
    if (to[6]) result[6] = steps.cell;
    for (std::size_t i = 0; i < result.size(); ++i) {
      if (result[i].defined()) result[i] = result[i].to(kept.dtypes[i]);
    }
    return result;
  }

 protected:
  void drop_saved() const noexcept override { kept_.reset(); }

 private:
  mutable std::optional<Kept> kept_;
};

RnnOutputs record_layer(std::string_view name, Given given, RnnResult result) {
  if (given.edges.empty()) {
    return {result.output, result.hidden, result.cell.defined() ? Variable(result.cell) : Variable()};
  }
  const std::uint32_t outputs = result.cell.defined() ? 3 : 2;
  Kept kept(given, std::move(result.tape));
  const auto fn = std::make_shared<const RecurrentFn>(name, std::move(kept), std::move(given.edges), outputs);
  return {Variable::output_of({fn, 0}, std::move(result.output)),
          Variable::output_of({fn, 1}, std::move(result.hidden)),
          result.cell.defined() ? Variable::output_of({fn, 2}, std::move(result.cell)) : Variable()};
}

}  // namespace

RnnOutputs lstm(const Variable& x, const RnnParameters& parameters, const Variable& hidden, const Variable& cell,
                TimeDirection direction) {
  Given given(x, parameters, hidden, cell);
  RnnResult result = lstm(given.x, given.weights, given.hidden, given.cell, direction);
  return record_layer("lstm", std::move(given), std::move(result));
}

RnnOutputs gru(const Variable& x, const RnnParameters& parameters, const Variable& hidden, TimeDirection direction) {
  Given given(x, parameters, hidden, {});
  RnnResult result = gru(given.x, given.weights, given.hidden, direction);
  return record_layer("gru", std::move(given), std::move(result));
}

RnnOutputs rnn(const Variable& x, const RnnParameters& parameters, const Variable& hidden, RnnNonlinearity nonlinearity,
               TimeDirection direction) {
  Given given(x, parameters, hidden, {});
  RnnResult result = rnn(given.x, given.weights, given.hidden, nonlinearity, direction);
  return record_layer("rnn", std::move(given), std::move(result));
}

}  // namespace troupe

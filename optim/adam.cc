#include "optim/adam.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops.h"

namespace troupe::optim {
namespace {

void require_not_negative(std::string_view option, double value) {
  if (!(value >= 0.0) || !std::isfinite(value)) {
    throw ValueError(fmt::format("[adam] {} is not a number >= 0: {}", option, value));
  }
}

void require_share(std::string_view option, double value) {
  if (!(value >= 0.0 && value < 1.0)) {
    throw ValueError(fmt::format("[adam] {} is not a number in [0, 1): {}", option, value));
  }
}

}  // namespace

Adam::Adam(const AdamOptions& options) : options_(options) {
  require_not_negative("lr", options.lr);
  require_share("beta1", options.beta1);
  require_share("beta2", options.beta2);
  require_not_negative("eps", options.eps);
  require_not_negative("weight_decay", options.weight_decay);
}

std::int64_t Adam::steps(std::size_t index) const { return index < states_.size() ? states_[index].steps : 0; }

Tensor Adam::gradient_mean(std::size_t index) const {
  return steps(index) > 0 ? states_[index].means.gradient.clone() : Tensor();
}

Tensor Adam::square_mean(std::size_t index) const {
  return steps(index) > 0 ? states_[index].means.square.clone() : Tensor();
}

void Adam::check_state(const ParameterUpdate& update) const {
  if (steps(update.index) == 0) return;
  const Tensor& before = states_[update.index].means.gradient;
  if (before.shape() != update.current.shape() || before.dtype() != compute_dtype(update.current.dtype())) {
    throw ShapeError(fmt::format("[adam] parameter {} is not what it was: {} {}, before {} {}", update.index,
                                 name_of(update.current.dtype()), to_string(update.current.shape()),
                                 name_of(before.dtype()), to_string(before.shape())));
  }
}

void Adam::prepare_one(const ParameterUpdate& update) {
  State& state = state_for(update);
  Tensor next = update.next;  // until the last line it holds the gradient with decay
  Tensor gradient = update.gradient;
  if (options_.weight_decay != 0.0) {
    axpby_into(next, 1.0, gradient, options_.weight_decay, update.current);
    gradient = next;
  }
  axpby_into(state.next.gradient, options_.beta1, state.means.gradient, 1.0 - options_.beta1, gradient);
  axpby_into(state.next.square, options_.beta2, state.means.square, 1.0 - options_.beta2, mul(gradient, gradient));

  // Means that began at 0 are too small in the first steps.
  const auto t = static_cast<double>(state.steps + 1);
  const double gradient_share = 1.0 - std::pow(options_.beta1, t);
  const double square_share = 1.0 - std::pow(options_.beta2, t);
  const Tensor root = add(sqrt(div(state.next.square, square_share)), options_.eps);
  axpby_into(next, 1.0, update.current, -options_.lr / gradient_share, div(state.next.gradient, root));
}

void Adam::commit_state(std::size_t index) noexcept {
  State& state = states_[index];
  std::swap(state.means, state.next);
  ++state.steps;
}

Adam::State& Adam::state_for(const ParameterUpdate& update) {
  if (states_.size() <= update.index) states_.resize(update.index + 1);
  State& state = states_[update.index];
  if (state.steps == 0) {
    const auto zero = [&] { return zeros_like(update.current); };
    state = {.means = {zero(), zero()}, .next = {zero(), zero()}};
  }
  return state;
}

}  // namespace troupe::optim

#include "optim/sgd.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "tensor/error.h"
#include "tensor/ops.h"

namespace troupe::optim {
namespace {

void require_not_negative(std::string_view option, double value) {
  if (!(value >= 0.0) || !std::isfinite(value)) {
    throw ValueError(fmt::format("[sgd] {} is not a number >= 0: {}", option, value));
  }
}

}  // namespace

Sgd::Sgd(const SgdOptions& options) : options_(options) {
  require_not_negative("lr", options.lr);
  require_not_negative("momentum", options.momentum);
  require_not_negative("weight_decay", options.weight_decay);
  if (!std::isfinite(options.dampening)) {
    throw ValueError(fmt::format("[sgd] dampening is not a number: {}", options.dampening));
  }
  if (options.nesterov && (options.momentum == 0.0 || options.dampening != 0.0)) {
    throw ValueError(fmt::format("[sgd] nesterov needs momentum > 0 and dampening = 0: momentum {}, dampening {}",
                                 options.momentum, options.dampening));
  }
}

Tensor Sgd::direction(std::size_t index) const {
  const bool known = index < states_.size() && states_[index].direction.defined();
  return known ? states_[index].direction.clone() : Tensor();
}

void Sgd::check_state(const ParameterUpdate& update) const {
  if (update.index >= states_.size()) return;
  const Tensor& before = states_[update.index].direction;
  if (before.defined() && (before.shape() != update.current.shape() || before.dtype() != compute_dtype(update.current.dtype()))) {
    throw ShapeError(fmt::format("[sgd] parameter {} is not what it was: {} {}, before {} {}", update.index,
                                 name_of(update.current.dtype()), to_string(update.current.shape()),
                                 name_of(before.dtype()), to_string(before.shape())));
  }
}

void Sgd::prepare_one(const ParameterUpdate& update) {
  const Tensor& current = update.current;
  Tensor next = update.next;  // until the last line it holds what is on the way there
  Tensor step = update.gradient;
  if (options_.weight_decay != 0.0) {
    axpby_into(next, 1.0, step, options_.weight_decay, current);
    step = next;
  }
  if (options_.momentum != 0.0) {
    const Tensor direction = next_direction(update.index, step);
    if (options_.nesterov) {
      axpby_into(next, 1.0, step, options_.momentum, direction);
      step = next;
    } else {
      step = direction;
    }
  }
  axpby_into(next, 1.0, current, -options_.lr, step);
}

Tensor Sgd::next_direction(std::size_t index, const Tensor& gradient) {
  if (states_.size() <= index) states_.resize(index + 1);
  State& state = states_[index];
  if (!state.next_direction.defined()) {
    state.next_direction = Tensor::empty(gradient.shape(), gradient.dtype(), gradient.device());
  }
  if (state.direction.defined()) {
    axpby_into(state.next_direction, options_.momentum, state.direction, 1.0 - options_.dampening, gradient);
  } else {
    state.next_direction.copy_from(gradient);
  }
  return state.next_direction;
}

void Sgd::commit_state(std::size_t index) noexcept {
  if (options_.momentum != 0.0) std::swap(states_[index].direction, states_[index].next_direction);
}

}  // namespace troupe::optim

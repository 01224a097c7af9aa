#include "optim/optimizer.h"

#include <fmt/format.h>

#include <stdexcept>
#include <unordered_set>

#include "tensor/error.h"

namespace troupe::optim {
namespace {

/// Throws unless `tensor`, called `role`, has the shape, dtype and device of the parameter's current value.
void require_like(const Tensor& tensor, std::string_view role, const ParameterUpdate& update, std::string_view rule) {
  const Tensor& current = update.current;
  if (tensor.shape() != current.shape()) {
    throw ShapeError(fmt::format("[{}] {} of parameter {} has another shape: {}, the value {}", rule, role,
                                 update.index, to_string(tensor.shape()), to_string(current.shape())));
  }
  if (tensor.dtype() != current.dtype()) {
    throw DTypeError(fmt::format("[{}] {} of parameter {} has another dtype: {}, the value {}", rule, role,
                                 update.index, name_of(tensor.dtype()), name_of(current.dtype())));
  }
  if (tensor.device() != current.device()) {
    throw DeviceError(fmt::format("[{}] {} of parameter {} is on another device: {}, the value {}", rule, role,
                                  update.index, to_string(tensor.device()), to_string(current.device())));
  }
}

void check_one(const ParameterUpdate& update, std::string_view rule) {
  if (!update.current.defined()) throw TensorError(fmt::format("[{}] parameter {} has no value", rule, update.index));
  if (!update.gradient.defined())
    throw TensorError(fmt::format("[{}] parameter {} has no gradient", rule, update.index));
  if (!update.next.defined())
    throw TensorError(fmt::format("[{}] parameter {} has no second buffer", rule, update.index));
  if (!is_floating(update.current.dtype())) {
    throw DTypeError(fmt::format("[{}] parameter {} is not floating point: {}", rule, update.index,
                                 name_of(update.current.dtype())));
  }
  require_like(update.gradient, "the gradient", update, rule);
  require_like(update.next, "the second buffer", update, rule);
  if (!update.next.is_contiguous()) {
    throw ValueError(fmt::format("[{}] the second buffer of parameter {} is not contiguous", rule, update.index));
  }
  const Storage& target = update.next.storage();
  if (target.same_as(update.current.storage()) || target.same_as(update.gradient.storage())) {
    throw ValueError(fmt::format("[{}] the second buffer of parameter {} is memory that is read", rule, update.index));
  }
}

/// The same in f32, for a parameter of 16 bits.
ParameterUpdate widened(const ParameterUpdate& update) {
  return {update.index, update.current.to(DType::f32), update.gradient.to(DType::f32),
          Tensor::empty(update.next.shape(), DType::f32, update.next.device())};
}

}  // namespace

void Optimizer::check(std::span<const ParameterUpdate> updates) const {
  std::unordered_set<std::size_t> seen;
  for (const ParameterUpdate& update : updates) {
    check_one(update, name());
    check_state(update);
    if (!seen.insert(update.index).second) {
      throw ValueError(fmt::format("[{}] parameter {} occurs twice in one step", name(), update.index));
    }
  }
}

void Optimizer::check_state(const ParameterUpdate&) const {}

void Optimizer::prepare(std::span<const ParameterUpdate> updates) {
  if (open_) throw std::logic_error(fmt::format("[{}] the step before was neither committed nor rolled back", name()));
  check(updates);
  prepared_.clear();
  prepared_.reserve(updates.size());
  for (const ParameterUpdate& update : updates) {
    if (const DType dtype = update.current.dtype(); compute_dtype(dtype) == dtype) {
      prepare_one(update);
    } else {
      const ParameterUpdate in_f32 = widened(update);
      prepare_one(in_f32);
      Tensor next = update.next;
      next.copy_from(in_f32.next);
    }
    prepared_.push_back(update.index);
  }
  open_ = true;
}

void Optimizer::commit() {
  require_open("commit");
  for (std::size_t index : prepared_) commit_state(index);
  open_ = false;
}

void Optimizer::rollback() {
  require_open("roll back");
  open_ = false;
}

void Optimizer::step(std::span<const ParameterUpdate> updates) {
  prepare(updates);
  commit();
}

void Optimizer::require_open(std::string_view what) const {
  if (!open_) throw std::logic_error(fmt::format("[{}] there is no prepared step to {}", name(), what));
}

}  // namespace troupe::optim

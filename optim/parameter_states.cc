#include "optim/parameter_states.h"

#include <fmt/format.h>

#include <algorithm>

#include "tensor/error.h"

namespace troupe::optim {
namespace {

bool has_master(const Tensor& value) { return compute_dtype(value.dtype()) != value.dtype(); }

/// Whether states that were made for some value are right for this one.
bool fits(const std::vector<Tensor>& states, std::size_t kinds, const Tensor& value) {
  if (states.size() != kinds + (has_master(value) ? 1 : 0)) return false;
  return std::ranges::all_of(states, [&](const Tensor& state) {
    return state.shape() == value.shape() && state.dtype() == compute_dtype(value.dtype()) &&
           state.device() == value.device();
  });
}

/// The same elements in memory that later writes to `x` leave alone; nothing is copied before there is such a write.
Tensor snapshot(const Tensor& x) {
  if (x.device().kind != DeviceKind::cpu || x.numel() == 0) return x.clone();
  return Tensor::from_storage(Storage::adopt(x.freeze()), x.shape(), x.strides(), 0, x.dtype());
}

}  // namespace

void ParameterStates::check(std::string_view rule, std::size_t index, const Tensor& value) const {
  const auto found = states_.find(index);
  if (found == states_.end() || found->second.steps == 0 || found->second.present.empty()) return;
  const std::vector<Tensor>& states = found->second.present;
  if (fits(states, kinds_.size(), value)) return;
  throw ShapeError(fmt::format("[{}] parameter {} is not what it was: {} {}, before {} {}{}", rule, index,
                               name_of(value.dtype()), to_string(value.shape()), name_of(states[0].dtype()),
                               to_string(states[0].shape()),
                               states.size() > kinds_.size() ? " with a master copy" : ""));
}

ParameterState& ParameterStates::ready(std::size_t index, const Tensor& value) {
  ParameterState& state = states_[index];
  if (fits(state.present, kinds_.size(), value)) return state;
  std::vector<Tensor> first;
  for (const StateKind& kind : kinds_) {
    first.push_back(Tensor::empty(value.shape(), compute_dtype(value.dtype()), value.device()));
    first.back().fill(kind.first);
  }
  if (has_master(value)) first.push_back(value.to(DType::f32).contiguous());
  state.present = std::move(first);
  state.next.clear();
  return state;
}

ParameterState& ParameterStates::ready_with_next(std::size_t index, const Tensor& value) {
  ParameterState& state = ready(index, value);
  state.next.resize(state.present.size());
  for (std::size_t k = 0; k < state.next.size(); ++k) {
    // Writing into frozen memory would first copy what nobody needs.
    if (state.next[k].defined() && !state.next[k].storage().frozen()) continue;
    state.next[k] = Tensor::empty(value.shape(), compute_dtype(value.dtype()), value.device());
  }
  return state;
}

void ParameterStates::commit(std::size_t index) {
  ParameterState& state = states_.at(index);
  std::swap(state.present, state.next);
  ++state.steps;
}

std::int64_t ParameterStates::steps(std::size_t index) const {
  const auto found = states_.find(index);
  return found == states_.end() ? 0 : found->second.steps;
}

Tensor ParameterStates::find(std::size_t index, std::string_view name) const {
  if (steps(index) == 0) return {};
  const std::vector<Tensor>& present = states_.at(index).present;
  const std::size_t place = place_of(name);
  return place < present.size() ? snapshot(present[place]) : Tensor();
}

/// Where the state of this name is in the list; past its end if there is none.
std::size_t ParameterStates::place_of(std::string_view name) const {
  if (name == kMaster) return kinds_.size();
  const auto found = std::ranges::find(kinds_, name, &StateKind::name);
  return found == kinds_.end() ? kinds_.size() + 1 : static_cast<std::size_t>(found - kinds_.begin());
}

}  // namespace troupe::optim

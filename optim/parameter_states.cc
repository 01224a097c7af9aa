#include "optim/parameter_states.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "optim/saved_state.h"
#include "tensor/create.h"
#include "tensor/error.h"

namespace troupe::optim {
namespace {

constexpr std::string_view kStep = "step";

bool has_master(const Tensor& value) { return compute_dtype(value.dtype()) != value.dtype(); }

/// Returns whether `states` have the count, shape, dtype and device for `value`.
bool fits(const std::vector<Tensor>& states, std::size_t kinds, const Tensor& value) {
  if (states.size() != kinds + (has_master(value) ? 1 : 0)) return false;
  return std::ranges::all_of(states, [&](const Tensor& state) {
    return state.shape() == value.shape() && state.dtype() == compute_dtype(value.dtype()) &&
           state.device() == value.device();
  });
}

std::string name_of_state(std::size_t index, std::string_view name) {
  return fmt::format("parameters.{}.{}", index, name);
}

/// Returns the number in "parameters.3.exp_avg", or nullopt for a name of another form.
std::optional<std::size_t> index_in(std::string_view name) {
  constexpr std::string_view kBegin = "parameters.";
  if (!name.starts_with(kBegin)) return std::nullopt;
  name.remove_prefix(kBegin.size());
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  if (error != std::errc() || end == name.data() + name.size() || *end != '.') return std::nullopt;
  return index;
}

/// Returns the elements of `x`, safe from later writes to `x`. On the CPU they are copied only at such a write.
Tensor snapshot(const Tensor& x) {
  if (x.device().kind != DeviceKind::cpu || x.numel() == 0) return x.clone();
  return Tensor::from_storage(Storage::adopt(x.freeze()), x.shape(), x.strides(), 0, x.dtype());
}

/// Returns the number of tensors that are saved: none before the first step.
std::size_t saved_size_of(const ParameterState& state) {
  return state.steps == 0 ? 0 : 1 + state.present.size() + (state.product ? 1 : 0);
}

}  // namespace

ParameterStates::ParameterStates(std::vector<StateKind> kinds, std::string product)
    : kinds_(std::move(kinds)), product_(std::move(product)) {}

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
    // A write into frozen memory would first copy elements that it overwrites.
    if (state.next[k].defined() && !state.next[k].storage().frozen()) continue;
    state.next[k] = Tensor::empty(value.shape(), compute_dtype(value.dtype()), value.device());
  }
  return state;
}

void ParameterStates::count_step(std::size_t index) {
  ParameterState& state = states_.at(index);
  state.product = state.next_product;
  ++state.steps;
}

void ParameterStates::commit(std::size_t index) {
  ParameterState& state = states_.at(index);
  std::swap(state.present, state.next);
  state.product = state.next_product;
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

NamedTensors ParameterStates::save(std::size_t first, std::size_t count) const {
  NamedTensors saved;
  for (const auto& [index, state] : states_) {
    if (saved.size() >= count) break;
    const std::size_t size = saved_size_of(state);
    for (std::size_t i = first; i < size && saved.size() < count; ++i) {
      if (i == 0) {
        saved.emplace_back(name_of_state(index, kStep), from_values<std::int64_t>({state.steps}, {}));
      } else if (i > state.present.size()) {
        saved.emplace_back(name_of_state(index, product_), from_values<double>({*state.product}, {}));
      } else {
        const std::string_view name = i <= kinds_.size() ? std::string_view(kinds_[i - 1].name) : kMaster;
        saved.emplace_back(name_of_state(index, name), snapshot(state.present[i - 1]));
      }
    }
    first -= std::min(first, size);
  }
  return saved;
}

std::size_t ParameterStates::saved_size() const {
  std::size_t size = 0;
  for (const auto& [index, state] : states_) size += saved_size_of(state);
  return size;
}

ParameterStates ParameterStates::loaded(SavedState& saved, std::span<const Tensor> values) const {
  ParameterStates result(kinds_, product_);
  for (const std::string& name : saved.names()) {
    const std::optional<std::size_t> index = index_in(name);
    // Other names are not taken, so finish() reports them as unexpected.
    if (index && name == name_of_state(*index, kStep)) result.load_one(*index, saved, values);
  }
  return result;
}

void ParameterStates::load_one(std::size_t index, SavedState& saved, std::span<const Tensor> values) {
  if (!values.empty() && index >= values.size()) return;  // not taken: reported as unexpected
  const std::string step = name_of_state(index, kStep);
  const std::int64_t steps = saved.take_integer(step).value_or(1);
  if (steps < 1) saved.complain(step, fmt::format("is {}, not above 0", steps));

  // Without values, all states must have the shape, dtype and device of the first.
  Tensor like = values.empty() ? Tensor() : values[index];
  const auto load = [&](std::string_view name, const Tensor& tensor) -> Tensor {
    if (!tensor.defined()) return {};
    if (!like.defined()) like = tensor;
    const DType dtype = like.dtype() == DType::f64 ? DType::f64 : DType::f32;
    if (tensor.shape() != like.shape() || tensor.dtype() != dtype) {
      saved.complain(name_of_state(index, name),
                     fmt::format("is {} {}, not {} {}", name_of(tensor.dtype()), to_string(tensor.shape()),
                                 name_of(dtype), to_string(like.shape())));
    }
    return tensor.to(like.device()).clone();
  };
  std::vector<Tensor> present;
  for (const StateKind& kind : kinds_) present.push_back(load(kind.name, saved.take(name_of_state(index, kind.name))));
  const std::string master = name_of_state(index, kMaster);
  if (values.empty()) {
    if (const Tensor found = saved.take_if_there(master); found.defined()) present.push_back(load(kMaster, found));
  } else if (has_master(values[index])) {
    present.push_back(load(kMaster, saved.take(master)));
  }
  std::optional<double> product;
  if (const std::string name = name_of_state(index, product_); !product_.empty() && saved.has(name)) {
    product = saved.take_number(name);
    if (product && !(*product >= 0.0 && *product < 1.0))
      saved.complain(name, fmt::format("is {}, not in [0, 1)", *product));
  }
  states_[index] = {.steps = steps, .present = std::move(present), .next = {}, .product = product};
}

/// Returns the position of state `name`, past the end if there is none.
std::size_t ParameterStates::place_of(std::string_view name) const {
  if (name == kMaster) return kinds_.size();
  const auto found = std::ranges::find(kinds_, name, &StateKind::name);
  return found == kinds_.end() ? kinds_.size() + 1 : static_cast<std::size_t>(found - kinds_.begin());
}

}  // namespace troupe::optim

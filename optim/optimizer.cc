#include "optim/optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <utility>

#include "optim/option_checks.h"
#include "optim/saved_state.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops/update.h"

namespace troupe::optim {
namespace {

/// Throws unless `tensor`, named `role` in the error, has the shape `shape` and the dtype and device of the current
/// value.
void require_like(const Tensor& tensor, std::string_view role, const Shape& shape, const ParameterUpdate& update,
                  std::string_view rule) {
  const Tensor& current = update.current;
  if (tensor.shape() != shape) {
    throw ShapeError(fmt::format("[{}] {} of parameter {} has another shape: {}, the value {}", rule, role,
                                 update.index, to_string(tensor.shape()), to_string(shape)));
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

/// Throws unless `rows` are ascending rows of the value and the gradient has their shape.
void check_rows(const ParameterUpdate& update, std::string_view rule) {
  const Tensor& rows = update.rows;
  const Shape& shape = update.current.shape();
  if (rows.dtype() != DType::i64 || rows.dim() != 1 || update.current.dim() == 0) {
    throw ShapeError(fmt::format("[{}] rows of parameter {} are {} {}, the value {}", rule, update.index,
                                 name_of(rows.dtype()), to_string(rows.shape()), to_string(shape)));
  }
  Shape of_rows = shape;
  of_rows[0] = rows.numel();
  require_like(update.gradient, "the gradient", of_rows, update, rule);
  const Tensor contiguous = rows.to(Device::cpu()).contiguous();
  std::int64_t last = -1;
  for (const std::int64_t row : contiguous.data<std::int64_t>()) {
    if (row <= last || row >= shape[0]) {
      throw ValueError(
          fmt::format("[{}] rows of parameter {} are not ascending numbers below {}", rule, update.index, shape[0]));
    }
    last = row;
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
  if (update.rows.defined()) {
    check_rows(update, rule);
  } else {
    require_like(update.gradient, "the gradient", update.current.shape(), update, rule);
  }
  require_like(update.next, "the second buffer", update.current.shape(), update, rule);
  if (!update.next.is_contiguous()) {
    throw ValueError(fmt::format("[{}] the second buffer of parameter {} is not contiguous", rule, update.index));
  }
  const Storage& target = update.next.storage();
  const bool is_gradient = target.same_as(update.gradient.storage());
  const bool in_place =
      is_gradient && update.next.offset() == update.gradient.offset() && update.gradient.is_contiguous();
  if (target.same_as(update.current.storage()) || (is_gradient && !in_place)) {
    throw ValueError(fmt::format("[{}] the second buffer of parameter {} is memory that is read", rule, update.index));
  }
}

void check_options(const StepOptions& options, std::string_view rule) {
  require_number(rule, "gradient_scale", options.gradient_scale);
  if (!(options.gradient_limit >= 0.0)) {
    throw ValueError(fmt::format("[{}] gradient_limit is not >= 0: {}", rule, options.gradient_limit));
  }
}

/// Computes the items of each device together, those of the CPU first: for them troupe::update() may still allocate
/// before it writes. REQUIRES: the tensors of each item are on one device.
void update_all(std::span<UpdateItem> items) {
  Device device = Device::cpu();
  while (!items.empty()) {
    const auto others =
        std::ranges::partition(items, [device](const UpdateItem& item) { return item.value.device() == device; });
    const std::size_t count = items.size() - others.size();
    update(items.first(count));
    items = items.subspan(count);
    if (!items.empty()) device = items.front().value.device();
  }
}

}  // namespace

Optimizer::Optimizer(std::vector<StateKind> kinds, std::string product)
    : states_(std::move(kinds), std::move(product)) {}

Optimizer::~Optimizer() = default;

std::optional<double> Optimizer::product(std::int64_t /*step*/, std::optional<double> /*before*/) const {
  return std::nullopt;
}

UpdateFormula Optimizer::formula_with(std::int64_t step, double /*product*/) const { return formula(step); }

void Optimizer::check(std::span<const ParameterUpdate> updates, const StepOptions& options) const {
  require_closed();
  check_updates(updates, options);
}

void Optimizer::check_updates(std::span<const ParameterUpdate> updates, const StepOptions& options) const {
  check_options(options, name());
  std::unordered_set<std::size_t> seen;
  for (const ParameterUpdate& update : updates) {
    check_one(update, name());
    states_.check(name(), update.index, update.current);
    if (update.rows.defined() && !zero_changes_nothing()) {
      throw ValueError(fmt::format("[{}] parameter {} has a gradient of rows, and these options change the others too",
                                   name(), update.index));
    }
    if (!seen.insert(update.index).second) {
      throw ValueError(fmt::format("[{}] parameter {} occurs twice in one step", name(), update.index));
    }
  }
}

void Optimizer::prepare(std::span<const ParameterUpdate> updates, const StepOptions& options) {
  check(updates, options);
  prepared_.clear();
  add_prepared(updates, options);
  open_ = true;
}

void Optimizer::prepare_more(std::span<const ParameterUpdate> updates, const StepOptions& options) {
  require_open("add to");
  check_updates(updates, options);
  for (const ParameterUpdate& update : updates) {
    if (!prepared_.contains(update.index)) continue;
    throw ValueError(fmt::format("[{}] parameter {} occurs twice in one step", name(), update.index));
  }
  add_prepared(updates, options);
}

void Optimizer::add_prepared(std::span<const ParameterUpdate> updates, const StepOptions& options) {
  try {
    for (const ParameterUpdate& update : updates) prepared_.insert(update.index);
    compute(updates, options);
  } catch (...) {
    for (const ParameterUpdate& update : updates) prepared_.erase(update.index);
    throw;
  }
}

void Optimizer::commit() {
  require_open("commit");
  for (const std::size_t index : prepared_) states_.commit(index);
  open_ = false;
}

void Optimizer::rollback() {
  require_open("roll back");
  open_ = false;
}

void Optimizer::step(std::span<const ParameterUpdate> updates, const StepOptions& options) {
  const Part all{this, updates};
  step_together({&all, 1}, options);
}

void Optimizer::step_together(std::span<const Part> parts, const StepOptions& options) {
  for (const auto& [rule, updates] : parts) rule->check(updates, options);
  std::vector<UpdateItem> items;
  for (const auto& [rule, updates] : parts) rule->add_items(updates, options, States::replaced, items);
  update_all(items);
  for (const auto& [rule, updates] : parts) {
    for (const ParameterUpdate& update : updates) rule->states_.count_step(update.index);
  }
}

NamedTensors Optimizer::state_dict() const { return state_dict_part(0, std::numeric_limits<std::size_t>::max()); }

NamedTensors Optimizer::state_dict_part(std::size_t first, std::size_t count) const {
  NamedTensors part;
  const auto options = named_options();
  for (std::size_t i = first; i < options.size() && part.size() < count; ++i) {
    const auto& [option, value] = options[i];
    part.emplace_back(fmt::format("{}.{}", name(), option), full({}, value, DType::f64));
  }
  NamedTensors states = states_.save(first - std::min(first, options.size()), count - part.size());
  part.insert(part.end(), std::make_move_iterator(states.begin()), std::make_move_iterator(states.end()));
  return part;
}

std::size_t Optimizer::state_dict_size() const { return named_options().size() + states_.saved_size(); }

void Optimizer::load_state_dict(const NamedTensors& state, std::span<const Tensor> values, const std::string& prefix) {
  require_closed();
  SavedState saved(state, prefix);
  double saved_lr = lr();
  for (const auto& [option, value] : named_options()) {
    const std::string key = fmt::format("{}.{}", name(), option);
    const std::optional<double> was = saved.take_number(key);
    if (!was) continue;
    if (option == "lr") {
      saved_lr = *was;
    } else if (*was != value) {
      saved.complain(key, fmt::format("is {}, not {}", *was, value));
    }
  }
  ParameterStates states = states_.loaded(saved, values);
  saved.finish();
  set_lr(saved_lr);
  states_ = std::move(states);
}

void Optimizer::add_items(std::span<const ParameterUpdate> updates, const StepOptions& options, States states,
                          std::vector<UpdateItem>& items) {
  items.reserve(items.size() + updates.size());
  for (const ParameterUpdate& update : updates) {
    const bool replaced = states == States::replaced;
    ParameterState& state =
        replaced ? states_.ready(update.index, update.current) : states_.ready_with_next(update.index, update.current);
    const std::int64_t step = state.steps + 1;
    state.next_product = product(step, state.product);
    items.push_back({.value = update.current.contiguous(),
                     .gradient = update.gradient.contiguous(),
                     .next = update.next,
                     .states = state.present,
                     .next_states = replaced ? state.present : state.next,
                     .formula = state.next_product ? formula_with(step, *state.next_product) : formula(step),
                     .gradient_scale = maximizes() ? -options.gradient_scale : options.gradient_scale,
                     .gradient_limit = options.gradient_limit,
                     .rows = update.rows.defined() ? update.rows.contiguous() : Tensor()});
    if (update.rows.defined() && !replaced) {
      for (std::size_t k = 0; k < state.next.size(); ++k) state.next[k].copy_from(state.present[k]);
    }
  }
}

void Optimizer::compute(std::span<const ParameterUpdate> updates, const StepOptions& options) {
  std::vector<UpdateItem> items;
  add_items(updates, options, States::kept, items);
  update_all(items);
}

void Optimizer::require_closed() const {
  if (open_) throw std::logic_error(fmt::format("[{}] the step before was neither committed nor rolled back", name()));
}

void Optimizer::require_open(std::string_view what) const {
  if (!open_) throw std::logic_error(fmt::format("[{}] there is no prepared step to {}", name(), what));
}

}  // namespace troupe::optim

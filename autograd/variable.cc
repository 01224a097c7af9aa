#include "autograd/variable.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <string_view>

#include "autograd/describe.h"
#include "autograd/leaf_fn.h"
#include "autograd/reads.h"
#include "autograd/vertex_notes.h"

namespace troupe {
namespace {

thread_local detail::Recording recording_of_thread = detail::Recording::on;
thread_local detail::Reader* reader_of_thread = nullptr;
thread_local const AnomalyGuard* anomaly_guard_of_thread = nullptr;

}  // namespace

struct Variable::State {
  State(Tensor initial, Edge gradient_edge)
      : is_leaf(!gradient_edge),
        requires_grad(!is_leaf),
        elements(static_cast<std::uint32_t>(std::min<std::int64_t>(initial.numel(), Edge::kElementsMax))),
        value(std::move(initial)),
        edge(std::move(gradient_edge)) {
    edge.elements = elements;
  }
  ~State() { GradFn::let_go(std::move(edge)); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// Makes a leaf require a gradient. The leaf keeps its vertex for good, so that a reader never sees the edge change.
  static void require_gradient(const std::shared_ptr<State>& state, std::string_view operation) {
    std::scoped_lock lock(state->mutex);
    require_floating(operation, state->value);
    if (!state->edge) state->edge = {std::make_shared<const LeafFn>(state), 0, state->elements};
    state->requires_grad.store(true, std::memory_order_release);
  }

  static void require_floating(std::string_view operation, const Tensor& value) {
    if (is_floating(value.dtype())) return;
    throw DTypeError(
        fmt::format("[{}] only floating point values have gradients: {}", operation, name_of(value.dtype())));
  }

  /// Returns whether `edge` may be read.
  [[nodiscard]] bool has_gradient() const noexcept { return requires_grad.load(std::memory_order_acquire); }
  [[nodiscard]] Edge gradient_edge() const { return has_gradient() ? edge : Edge{nullptr, 0, elements}; }

  /// Returns the edge that the checkpointed function of this thread sees; outside one, the present edge.
  [[nodiscard]] Edge edge_here() const {
    return reader_of_thread == nullptr ? gradient_edge() : reader_of_thread->edge_of(this, gradient_edge());
  }

  [[nodiscard]] Tensor current() {
    if (!is_leaf) return value;
    std::scoped_lock lock(mutex);
    return value;
  }

  const bool is_leaf;
  std::atomic<bool> requires_grad;
  const std::uint32_t elements;  ///< as in Edge; the value's shape never changes
  std::mutex mutex;              ///< guards `value` of a leaf; the value of other variables never changes
  Tensor value;
  Edge edge;  ///< read only after `requires_grad` was seen true
};

LeafFn::LeafFn(std::weak_ptr<Variable::State> state)
    : GradFn("leaf", VertexKind::leaf, {}, 1, Work::of_inputs), state_(std::move(state)) {}

Variable LeafFn::variable() const { return Variable(state_.lock()); }

std::vector<Tensor> LeafFn::apply(std::vector<Tensor>) const {
  throw std::logic_error("[LeafFn] the engine keeps a leaf's gradient");
}

Variable::Variable(Tensor value, RequiresGrad requires_grad) {
  value.require_defined("Variable");
  state_ = std::make_shared<State>(std::move(value), Edge{});
  if (requires_grad == RequiresGrad::yes) State::require_gradient(state_, "Variable");
}

Variable::State& Variable::state(const char* operation) const {
  if (!state_) throw TensorError(fmt::format("[{}] variable is undefined", operation));
  return *state_;
}

Tensor Variable::value() const {
  State& s = state("value");
  if (reader_of_thread == nullptr) return s.current();
  return reader_of_thread->value_of(state_, s.gradient_edge(), s.current());
}

void Variable::assign(const char* operation, Tensor value, Kind kind) const {
  State& s = state(operation);
  if (!s.is_leaf)
    throw TensorError(fmt::format("[{}] not a leaf: the variable is the result of an operation", operation));
  std::unique_lock lock(s.mutex);
  const bool fits = value.defined() && value.shape() == s.value.shape() &&
                    (kind == Kind::any || (value.dtype() == s.value.dtype() && value.device() == s.value.device()));
  if (!fits) {
    throw ShapeError(fmt::format("[{}] the new value does not fit: {} instead of {}", operation,
                                 detail::describe(value), detail::describe(s.value)));
  }
  if (s.has_gradient()) State::require_floating(operation, value);
  std::swap(s.value, value);
  lock.unlock();  // the old value may be freed below: not under the lock
}

void Variable::set_value(Tensor value) const { assign("set_value", std::move(value), Kind::same); }
void Variable::convert_value(Tensor value) const { assign("convert_value", std::move(value), Kind::any); }

void Variable::set_requires_grad(RequiresGrad requires_grad) const {
  State& s = state("set_requires_grad");
  if (!s.is_leaf) throw TensorError("[set_requires_grad] not a leaf: the variable is the result of an operation");
  if (requires_grad == RequiresGrad::yes) return State::require_gradient(state_, "set_requires_grad");
  s.requires_grad.store(false, std::memory_order_release);
}

Shape Variable::shape() const { return value().shape(); }
DType Variable::dtype() const { return value().dtype(); }
Device Variable::device() const { return value().device(); }
std::int64_t Variable::size(int dim) const { return value().size(dim); }
std::int64_t Variable::numel() const { return value().numel(); }
bool Variable::requires_grad() const {
  const State& s = state("requires_grad");
  return reader_of_thread == nullptr ? s.has_gradient() : static_cast<bool>(s.edge_here());
}
bool Variable::is_leaf() const { return state("is_leaf").is_leaf; }
Variable Variable::detach() const { return Variable(value()); }

Edge Variable::gradient_edge() const { return state("gradient_edge").edge_here(); }

HookHandle Variable::add_gradient_hook(detail::GradientHook hook) const {
  const Edge edge = state("register_hook").gradient_edge();
  if (!edge) throw TensorError("[register_hook] the variable requires no gradient");
  return {edge.fn, edge.fn->notes().hooks.add({.slot = edge.slot, .on_gradient = std::move(hook)})};
}

HookHandle Variable::register_post_accumulate_grad_hook(detail::LeafHook hook) const {
  const Edge edge = state("register_post_accumulate_grad_hook").gradient_edge();
  if (!edge || edge.fn->kind() != VertexKind::leaf) {
    throw TensorError("[register_post_accumulate_grad_hook] not a leaf that requires a gradient");
  }
  return {edge.fn, edge.fn->notes().hooks.add({.on_leaf = std::move(hook)})};
}

Variable Variable::output_of(Edge edge, Tensor value) {
  const bool is_result = edge.fn->kind() != VertexKind::leaf;  // false for the result of detail::as_it_is
  if (is_result && anomaly_guard_of_thread != nullptr) detail::watch(*anomaly_guard_of_thread, edge, value);
  return Variable(std::make_shared<State>(std::move(value), std::move(edge)));
}

NoGradGuard::NoGradGuard() noexcept : before_(std::exchange(recording_of_thread, detail::Recording::off)) {}
NoGradGuard::~NoGradGuard() { recording_of_thread = before_; }
EnableGradGuard::EnableGradGuard() noexcept : before_(std::exchange(recording_of_thread, detail::Recording::on)) {}
EnableGradGuard::~EnableGradGuard() { recording_of_thread = before_; }
bool grad_enabled() noexcept { return recording_of_thread == detail::Recording::on; }

AnomalyGuard::AnomalyGuard(Anomaly what) noexcept
    : what_(what), outside_(std::exchange(anomaly_guard_of_thread, this)) {}
AnomalyGuard::~AnomalyGuard() { anomaly_guard_of_thread = outside_; }

namespace detail {

ReaderGuard::ReaderGuard(Reader& reader) noexcept : outside_(std::exchange(reader_of_thread, &reader)) {}
ReaderGuard::~ReaderGuard() { reader_of_thread = outside_; }
Reader* reader_here() noexcept { return reader_of_thread; }

FirstRunGuard::FirstRunGuard(NotingReader& reader) noexcept
    : reader_(reader), before_(std::exchange(recording_of_thread, Recording::replay)) {}
FirstRunGuard::~FirstRunGuard() { recording_of_thread = before_; }

bool wants_gradient(const Variable& x) {
  if (recording_of_thread == Recording::off) return false;
  return x.requires_grad() || (reader_of_thread != nullptr && reader_of_thread->is_input(x.id()));
}

bool wants_values(const Variable& x) {
  if (recording_of_thread == Recording::off) return false;
  return wants_gradient(x) || (reader_of_thread != nullptr && reader_of_thread->keeps(x.value()));
}

Recording recording_here() noexcept { return recording_of_thread; }
Recording exchange_recording_here(Recording recording) noexcept {
  return std::exchange(recording_of_thread, recording);
}

const AnomalyGuard* anomaly_guard_here() noexcept { return anomaly_guard_of_thread; }
const AnomalyGuard* exchange_anomaly_guard_here(const AnomalyGuard* guard) noexcept {
  return std::exchange(anomaly_guard_of_thread, guard);
}

WithoutAnomalyGuard::WithoutAnomalyGuard() noexcept : hidden_(std::exchange(anomaly_guard_of_thread, nullptr)) {}
WithoutAnomalyGuard::~WithoutAnomalyGuard() { anomaly_guard_of_thread = hidden_; }

}  // namespace detail

}  // namespace troupe

#include "autograd/variable.h"

#include <fmt/format.h>

#include <mutex>
#include <stdexcept>

#include "autograd/describe.h"
#include "autograd/leaf_fn.h"

namespace troupe {
namespace {

thread_local bool grad_enabled_here = true;

}  // namespace

struct Variable::State {
  State(Tensor initial, Edge gradient_edge) : value(std::move(initial)), edge(std::move(gradient_edge)) {}

  [[nodiscard]] bool is_leaf() const { return !edge.fn || edge.fn->kind() == VertexKind::leaf; }

  std::mutex mutex;  ///< guards `value` of leaves; that of others never changes
  Tensor value;
  Edge edge;
};

LeafFn::LeafFn(std::weak_ptr<Variable::State> state) : GradFn("leaf", VertexKind::leaf, {}), state_(std::move(state)) {}

Variable LeafFn::variable() const { return Variable(state_.lock()); }

std::vector<Tensor> LeafFn::apply(std::vector<Tensor>) const {
  throw std::logic_error("[LeafFn] the engine keeps a leaf's gradient");
}

Variable::Variable(Tensor value, RequiresGrad requires_grad) {
  value.require_defined("Variable");
  if (requires_grad == RequiresGrad::yes && !is_floating(value.dtype())) {
    throw DTypeError(fmt::format("[Variable] only floating point values have gradients: {}", name_of(value.dtype())));
  }
  state_ = std::make_shared<State>(std::move(value), Edge{});
  if (requires_grad == RequiresGrad::yes) state_->edge = {std::make_shared<const LeafFn>(state_), 0};
}

Variable::State& Variable::state(const char* operation) const {
  if (!state_) throw TensorError(fmt::format("[{}] variable is undefined", operation));
  return *state_;
}

Tensor Variable::value() const {
  State& s = state("value");
  if (!s.is_leaf()) return s.value;
  std::scoped_lock lock(s.mutex);
  return s.value;
}

void Variable::set_value(Tensor value) const {
  State& s = state("set_value");
  if (!s.is_leaf()) throw TensorError("[set_value] not a leaf: the variable is the result of an operation");
  std::unique_lock lock(s.mutex);
  if (!value.defined() || value.shape() != s.value.shape() || value.dtype() != s.value.dtype() ||
      value.device() != s.value.device()) {
    throw ShapeError(fmt::format("[set_value] the new value does not fit: {} instead of {}", detail::describe(value),
                                 detail::describe(s.value)));
  }
  std::swap(s.value, value);
  lock.unlock();  // the old value may be released below: not under the lock
}

Shape Variable::shape() const { return value().shape(); }
DType Variable::dtype() const { return value().dtype(); }
Device Variable::device() const { return value().device(); }
bool Variable::requires_grad() const { return state("requires_grad").edge.fn != nullptr; }
bool Variable::is_leaf() const { return state("is_leaf").is_leaf(); }
Variable Variable::detach() const { return Variable(value()); }
Edge Variable::gradient_edge() const { return state("gradient_edge").edge; }

Variable Variable::output_of(Edge edge, Tensor value) {
  return Variable(std::make_shared<State>(std::move(value), std::move(edge)));
}

NoGradGuard::NoGradGuard() noexcept : enabled_before_(std::exchange(grad_enabled_here, false)) {}
NoGradGuard::~NoGradGuard() { grad_enabled_here = enabled_before_; }
bool grad_enabled() noexcept { return grad_enabled_here; }

}  // namespace troupe

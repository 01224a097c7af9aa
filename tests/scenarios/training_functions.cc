#include "tests/scenarios/training_functions.h"

#include <memory>
#include <stdexcept>
#include <vector>

#include "autograd/ops.h"
#include "tensor/create.h"

namespace troupe::testing {
namespace {

class Explosive final : public GradFn {
 public:
  explicit Explosive(Edge next) : GradFn("explosive", VertexKind::operation, {std::move(next)}) {}
  std::vector<Tensor> apply(std::vector<Tensor>) const override { throw std::runtime_error("boom"); }
};

}  // namespace

Variable make_parameter(std::int64_t size, double value) { return Variable(full({size}, value), RequiresGrad::yes); }
Variable make_constant(std::int64_t size, double value) { return Variable(full({size}, value)); }

Tensor value_of(Scope& scope, const Parameter& parameter) { return parameter.local_value(scope)->value(); }

void convert_value(Scope& scope, const Parameter& parameter, bool to_double) {
  const Variable leaf = *parameter.local_value(scope);
  leaf.convert_value(leaf.value().to(to_double ? DType::f64 : DType::f32));
}

void convert_at_owner(Scope& scope, const Parameter& parameter, bool to_double) {
  scope.rpc_sync(parameter.owner(), &convert_value, parameter, to_double);
}

Tensor pass_on(const Tensor& tensor) { return tensor; }

Tensor gradient_of(Scope& scope, const Parameter& parameter) {
  const Variable leaf = *parameter.local_value(scope);
  return gradients(scope).of(leaf);
}

Variable scale(Scope& scope, const Variable& x, const Parameter& w) { return mul(x, *w.local_value(scope)); }
Variable total_of(Scope& scope, const Parameter& x) { return sum(*x.local_value(scope)); }
Variable bend(Scope& scope, const Variable& x, const Parameter& w) { return tanh(mul(x, *w.local_value(scope))); }

Variable scale_at(Scope& scope, const std::string& next, const Variable& x, const Parameter& w) {
  return scope.rpc_sync(next, &scale, x, w);
}

Variable scale_after_backward(Scope& scope, const Variable& x, const Parameter& w) {
  const Variable y = scale(scope, x, w);
  backward(scope, sum(y));
  return y;
}

Variable scale_with_hooks(Scope& scope, const Variable& x, const Parameter& w) {
  const auto ten_times = [](const Tensor& gradient) { return mul(gradient, 10.0); };
  x.register_hook(ten_times);
  w.local_value(scope)->register_hook(ten_times);
  return scale(scope, x, w);
}

Variable explode_in_backward(const Variable& x) {
  return Variable::output_of({std::make_shared<const Explosive>(x.gradient_edge()), 0}, x.value());
}

void fail() { throw std::runtime_error("no"); }

void train_once(Scope& scope, const Parameter& w, const Tensor& x) {
  const DistOptimizer optimizer(scope, optim::SgdOptions{.lr = 1.0}, {w});
  DistContext context(scope);
  backward(context, sum(context.rpc_sync(w.owner(), &scale, Variable(x), w)));
  optimizer.step(context);
}

SharedTrainer make_trainer(Scope& scope, const SharedOptimizer& shared) { return {scope, shared}; }

void publish_trainer(Scope& scope, const SharedOptimizer& shared) {
  static_cast<void>(scope.publish("trainer", SharedTrainer(scope, shared)));
}

void take_steps(Scope& scope, const RRef<SharedTrainer>& trainer, const Parameter& w0, const Parameter& w1,
                std::int32_t steps) {
  const DistOptimizer optimizer = trainer.local_value(scope)->optimizer();
  for (std::int32_t step = 0; step < steps; ++step) {
    DistContext context(scope);
    backward_through(context, {w0, w1});
    optimizer.step(context);
  }
}

void backward_through(const DistContext& context, const std::vector<Parameter>& parameters) {
  const Variable x(full({1}, 0.5), RequiresGrad::yes);
  Variable total;
  for (const Parameter& parameter : parameters) {
    const Variable y = sum(context.rpc_sync(parameter.owner(), &scale, x, parameter));
    total = total.defined() ? add(total, y) : y;
  }
  backward(context, total);
}

FunctionRegistry training_functions() {
  return {{"make_parameter", &make_parameter},
          {"make_constant", &make_constant},
          {"value_of", &value_of},
          {"convert_value", &convert_value},
          {"convert_at_owner", &convert_at_owner},
          {"pass_on", &pass_on},
          {"gradient_of", &gradient_of},
          {"scale", &scale},
          {"total_of", &total_of},
          {"bend", &bend},
          {"scale_at", &scale_at},
          {"scale_after_backward", &scale_after_backward},
          {"scale_with_hooks", &scale_with_hooks},
          {"explode_in_backward", &explode_in_backward},
          {"fail", &fail},
          {"train_once", &train_once},
          {"make_trainer", &make_trainer},
          {"publish_trainer", &publish_trainer},
          {"take_steps", &take_steps}};
}

}  // namespace troupe::testing

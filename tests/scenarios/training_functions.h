// Functions that the tests of contexts and optimizers call on other nodes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "actors/dist_autograd.h"
#include "actors/dist_optimizer.h"
#include "actors/function_registry.h"

namespace troupe::testing {

using Parameter = RRef<Variable>;

/// Returns a parameter of `size` elements, all `value`.
Variable make_parameter(std::int64_t size, double value);
Variable make_constant(std::int64_t size, double value);

Tensor value_of(Scope& scope, const Parameter& parameter);
/// Converts the value to f64, or back to f32.
void convert_value(Scope& scope, const Parameter& parameter, bool to_double);
/// As above, called from this node wherever the parameter is.
void convert_at_owner(Scope& scope, const Parameter& parameter, bool to_double);
Tensor pass_on(const Tensor& tensor);
/// Returns the gradient in the context of this call; undefined if there is none.
Tensor gradient_of(Scope& scope, const Parameter& parameter);

/// Returns x * w.
Variable scale(Scope& scope, const Variable& x, const Parameter& w);
/// Returns the sum of a value of this node.
Variable total_of(Scope& scope, const Parameter& x);
/// Returns tanh(x * w), whose gradients depend on the values of both.
Variable bend(Scope& scope, const Variable& x, const Parameter& w);
/// Returns scale on node `next`.
Variable scale_at(Scope& scope, const std::string& next, const Variable& x, const Parameter& w);
/// Returns scale after a backward pass of its own over the sum of it.
Variable scale_after_backward(Scope& scope, const Variable& x, const Parameter& w);
/// Returns scale, with hooks on `x` and on the parameter that multiply their gradients by 10.
Variable scale_with_hooks(Scope& scope, const Variable& x, const Parameter& w);
/// Returns its argument; its backward throws "boom".
Variable explode_in_backward(const Variable& x);
void fail();

/// One step of SGD with rate 1 on `w`, from the gradient of sum(x * w), in a context of its own.
void train_once(Scope& scope, const Parameter& w, const Tensor& x);

/// A trainer that stays on its node, with a handle of a shared optimizer.
class SharedTrainer {
 public:
  SharedTrainer(const Scope& scope, const SharedOptimizer& shared) : optimizer_(scope, shared) {}
  [[nodiscard]] const DistOptimizer& optimizer() const { return optimizer_; }

 private:
  DistOptimizer optimizer_;
};

SharedTrainer make_trainer(Scope& scope, const SharedOptimizer& shared);
/// Makes one that this node keeps as "trainer".
void publish_trainer(Scope& scope, const SharedOptimizer& shared);
/// Takes `steps` steps, each with gradient 0.5 for each of w0 and w1.
void take_steps(Scope& scope, const RRef<SharedTrainer>& trainer, const Parameter& w0, const Parameter& w1,
                std::int32_t steps);

/// Runs a backward pass with gradient 0.5 for each parameter, a row of `scale` calls.
void backward_through(const DistContext& context, const std::vector<Parameter>& parameters);

[[nodiscard]] FunctionRegistry training_functions();

}  // namespace troupe::testing

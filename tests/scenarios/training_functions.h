// What the tests of contexts and optimizers call on other nodes.
#pragma once

#include <cstdint>
#include <string>

#include "actors/dist_autograd.h"
#include "actors/dist_optimizer.h"
#include "actors/function_registry.h"

namespace troupe::testing {

using Parameter = RRef<Variable>;

/// A parameter of `size` elements, all `value`.
Variable make_parameter(std::int64_t size, double value);
Variable make_constant(std::int64_t size, double value);

Tensor value_of(Scope& scope, const Parameter& parameter);
/// Makes the value f64, or f32 again.
void convert_value(Scope& scope, const Parameter& parameter, bool to_double);
/// The same from here, wherever the parameter is.
void convert_at_owner(Scope& scope, const Parameter& parameter, bool to_double);
Tensor pass_on(const Tensor& tensor);
/// In the context it is called in; undefined if there is none.
Tensor gradient_of(Scope& scope, const Parameter& parameter);

/// x * w
Variable scale(Scope& scope, const Variable& x, const Parameter& w);
/// The sum of a value that is here.
Variable total_of(Scope& scope, const Parameter& x);
/// tanh(x * w), whose gradients depend on the values of both.
Variable bend(Scope& scope, const Variable& x, const Parameter& w);
/// scale at node `next`.
Variable scale_at(Scope& scope, const std::string& next, const Variable& x, const Parameter& w);
/// scale, after a backward pass of its own over the sum of it.
Variable scale_after_backward(Scope& scope, const Variable& x, const Parameter& w);
/// scale, with hooks on what came and on the parameter that multiply their gradients by 10.
Variable scale_with_hooks(Scope& scope, const Variable& x, const Parameter& w);
/// Passes its argument on; its backward throws "boom".
Variable explode_in_backward(const Variable& x);
void fail();

/// One step of SGD with rate 1 on `w`, from the gradient of sum(x * w), in a context of its own.
void train_once(Scope& scope, const Parameter& w, const Tensor& x);

[[nodiscard]] FunctionRegistry training_functions();

}  // namespace troupe::testing

// Functions whose profile is known.
#pragma once

#include <cstdint>

#include "actors/function_registry.h"
#include "actors/stream.h"
#include "actors/task.h"
#include "autograd/variable.h"
#include "tensor/tensor.h"

namespace troupe::testing {

/// Returns x @ x.
Tensor squared(const Tensor& x);
/// Returns x @ x, computed by `other`.
Tensor squared_by(Scope& scope, const NodeName& other, const Tensor& x);
/// As squared_by, without holding a thread meanwhile; then adds 1 here.
Task<Tensor> squared_later(Scope& scope, NodeName other, Tensor x);
/// Returns x @ x, computed in the span "squaring".
Tensor squared_in_span(Scope& scope, const Tensor& x);
/// Streams x @ x, `count` times.
Stream<Tensor> squares(Tensor x, std::int64_t count);
/// Returns x @ x, in the graph of the scope's context.
Variable squared_variable(const Variable& x);

/// Returns the gradient of the sum of x @ x, computed by `other` in a context of its own.
Tensor gradient_by(Scope& scope, const NodeName& other, const Tensor& x);

/// Returns `registry` with these functions.
[[nodiscard]] FunctionRegistry with_profile_functions(const FunctionRegistry& registry);

}  // namespace troupe::testing

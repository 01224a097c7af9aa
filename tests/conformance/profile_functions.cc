#include "tests/conformance/profile_functions.h"

#include "actors/dist_autograd.h"
#include "actors/profile/profiler.h"
#include "autograd/ops.h"
#include "tensor/ops.h"

namespace troupe::testing {

Tensor squared(const Tensor& x) { return matmul(x, x); }

Tensor squared_by(Scope& scope, const NodeName& other, const Tensor& x) { return scope.rpc_sync(other, &squared, x); }

Task<Tensor> squared_later(Scope& scope, NodeName other, Tensor x) {
  const Tensor y = co_await scope.rpc_async(other, &squared, x);
  co_return y + 1.0;
}

Tensor squared_in_span(Scope& scope, const Tensor& x) {
  const ProfileSpan span(scope, "squaring");
  return squared(x);
}

Stream<Tensor> squares(Tensor x, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) co_yield squared(x);
}

Variable squared_variable(const Variable& x) { return matmul(x, x); }

Tensor gradient_by(Scope& scope, const NodeName& other, const Tensor& x) {
  const DistContext context(scope);
  const Variable leaf(x, RequiresGrad::yes);
  backward(context, sum(context.rpc_sync(other, &squared_variable, leaf)));
  return context.grad(leaf);
}

FunctionRegistry with_profile_functions(const FunctionRegistry& registry) {
  return registry.with({{"squared", &squared},
                        {"squared_by", &squared_by},
                        {"squared_later", &squared_later},
                        {"squared_in_span", &squared_in_span},
                        {"squares", &squares},
                        {"squared_variable", &squared_variable},
                        {"gradient_by", &gradient_by}});
}

}  // namespace troupe::testing

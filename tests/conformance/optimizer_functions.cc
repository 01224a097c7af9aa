#include "tests/conformance/optimizer_functions.h"

#include "autograd/ops.h"

namespace troupe::testing {

Variable through_leaves(const Scope& scope, const Tensor& x, const std::vector<Leaf>& leaves) {
  Variable y = x;
  for (const Leaf& leaf : leaves) y = tanh(scope.rpc_sync(leaf.owner(), &times_leaf, y, leaf)) * 3.0;
  return sum(y);
}

void convert_leaf(Scope& scope, const Leaf& leaf, DType dtype) {
  const Variable own = *leaf.local_value(scope);
  own.convert_value(own.value().to(dtype));
}

std::int32_t train_shared(Scope& scope, const SharedOptimizer& shared, const std::vector<Leaf>& leaves, const Tensor& x,
                          std::int32_t steps) {
  const DistOptimizer optimizer(scope, shared);
  std::int32_t taken = 0;
  for (; taken < steps; ++taken) {
    const DistContext context(scope);
    backward(context, through_leaves(context, x, leaves));
    optimizer.step(context);
  }
  return taken;
}

std::int32_t train_shared_at(Scope& scope, const NodeName& next, const SharedOptimizer& shared,
                             const std::vector<Leaf>& leaves, const Tensor& x, std::int32_t steps) {
  return scope.rpc_sync(next, &train_shared, shared, leaves, x, steps);
}

std::int32_t train_reshared_at(Scope& scope, const NodeName& next, const SharedOptimizer& shared,
                               const std::vector<Leaf>& leaves, const Tensor& x, std::int32_t steps) {
  const DistOptimizer optimizer(scope, shared);
  return scope.rpc_sync(next, &train_shared, optimizer.share(), leaves, x, steps);
}

FunctionRegistry with_optimizer_functions(const FunctionRegistry& functions) {
  return functions.with({{"convert_leaf", &convert_leaf},
                         {"train_shared", &train_shared},
                         {"train_shared_at", &train_shared_at},
                         {"train_reshared_at", &train_reshared_at}});
}

}  // namespace troupe::testing

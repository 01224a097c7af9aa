#include "tests/conformance/gradient_functions.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

#include "actors/stack_info.h"
#include "autograd/boundary.h"
#include "autograd/ops.h"
#include "autograd/ops/index.h"
#include "autograd/ops/nn.h"
#include "tensor/cpu/allocator.h"
#include "tensor/create.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;

class Explosive final : public GradFn {
 public:
  explicit Explosive(Edge next) : GradFn("explosive", VertexKind::operation, {std::move(next)}) {}
  std::vector<Tensor> apply(std::vector<Tensor>) const override { throw std::runtime_error("boom"); }
};

/// Removes the first node of `path`; empty if there is none.
NodeName take_first(std::vector<NodeName>& path) {
  if (path.empty()) return {};
  NodeName first = path.front();
  path.erase(path.begin());
  return first;
}

}  // namespace

Variable make_leaf(std::int64_t size, double value) { return Variable(full({size}, value), RequiresGrad::yes); }
Variable constant_of(std::int64_t size, double value) { return Variable(full({size}, value)); }

Tensor gradient_here(Scope& scope, const Leaf& leaf) {
  const Variable mine = *leaf.local_value(scope);
  return gradients(scope).of(mine);
}

Variable product(const Variable& a, const Variable& b) { return a * b; }

Variable busy_product(const Variable& a, const Variable& b) {
  const Variable unused = exp(a) * b;
  const Variable again = a * b;
  static_cast<void>(again);
  Variable y = a * b;
  for (int i = 0; i < 3; ++i) y = tanh(y) + a;
  return y;
}

Variable dot_of(const Variable& a, const Variable& b, const Variable& c) { return matmul(matmul(a, b), c); }
Variable stacked(const std::vector<Variable>& rows) { return stack(rows); }
std::vector<Variable> three_of(const Variable& x) { return {x + 1.0, x * 2.0, x * x}; }
Variable in_f64(const Variable& a, const Variable& b) { return cast(a, DType::f64) * cast(b, DType::f64); }
Variable rows_of(const Variable& table, const Tensor& indices) { return embedding(table, indices); }
Variable sparse_rows(const Variable& table, const Tensor& indices) {
  return embedding(table, indices, {.sparse = true});
}

Variable make_table(std::int64_t rows, std::int64_t width) {
  return Variable(full({rows, width}, 0.5), RequiresGrad::yes);
}
Variable sparse_rows_of(Scope& scope, const Leaf& table, const Tensor& indices) {
  return sparse_rows(*table.local_value(scope), indices);
}
Variable sparse_rows_after_backward(Scope& scope, const Leaf& table, const Tensor& indices) {
  const Variable rows = sparse_rows_of(scope, table, indices);
  backward(scope, sum(rows));
  return rows;
}

Variable times_leaf(Scope& scope, const Variable& x, const Leaf& leaf) { return x * *leaf.local_value(scope); }

Variable product_of_leaves(Scope& scope, const Leaf& a, const Leaf& b) { return a.to_here(scope) * b.to_here(scope); }

RRef<Leaf> wrapped(Scope& scope, const Leaf& leaf) { return RRef<Leaf>(scope, leaf); }
Variable unwrapped(Scope& scope, const RRef<Leaf>& leaf) { return leaf.to_here(scope).to_here(scope); }

Variable product_along(Scope& scope, std::vector<NodeName> path, const Variable& a, const Variable& b) {
  const NodeName next = take_first(path);
  return next.empty() ? a * b : scope.rpc_sync(next, &product_along, path, a, b);
}

Variable explode_along(Scope& scope, std::vector<NodeName> path, const Variable& x) {
  const NodeName next = take_first(path);
  if (!next.empty()) return scope.rpc_sync(next, &explode_along, path, x * 2.0) * 3.0;
  return Variable::output_of({std::make_shared<const Explosive>(x.gradient_edge()), 0}, x.value());
}

Variable tanh_along(Scope& scope, std::vector<NodeName> path, std::int32_t count, const Variable& x) {
  Variable y = x;
  for (std::int32_t i = 0; i < count; ++i) y = tanh(y);
  const NodeName next = take_first(path);
  return next.empty() ? y : scope.rpc_sync(next, &tanh_along, path, count, y);
}

std::int64_t tensor_bytes_here() { return static_cast<std::int64_t>(cpu_allocator().statistics().bytes_live); }

Variable product_after_backward(Scope& scope, const Variable& a, const Variable& b) {
  const Variable y = a * b;
  backward(scope, sum(y));
  return y;
}

Task<Variable> product_after_wait(Scope& scope, NodeName other, Variable a, Variable b) {
  static_cast<void>(co_await scope.rpc_async(other, &answer_after, 20));
  co_return a* b;
}

Variable product_with_hooks(const Variable& a, const Variable& b) {
  const auto ten_times = [](const Tensor& gradient) { return gradient * 10.0; };
  a.register_hook(ten_times);
  b.register_hook(ten_times);
  return a * b;
}

void multiply_gradients(const Variable& parameter, double factor) {
  parameter.register_hook([factor](const Tensor& gradient) { return gradient * factor; });
}

std::string arrived_as(const Variable& a, const Variable& b) {
  const auto describe = [](const Variable& x) -> std::string {
    const Edge edge = x.gradient_edge();
    if (!edge.fn) return "constant";
    const bool received = dynamic_cast<const RecvFn*>(edge.fn.get()) != nullptr;
    return (received ? "received " : std::string(edge.fn->name()) + " ") + std::to_string(edge.slot);
  };
  const bool together = a.gradient_edge().fn == b.gradient_edge().fn;
  return describe(a) + ", " + describe(b) + (together ? "" : ", apart");
}

std::int64_t sends_here(Scope& scope) {
  for (const OpenContext& context : detail::stack_of(*scope.state().node, 5s).contexts) {
    if (scope.state().context && context.context == scope.state().context->text())
      return static_cast<std::int64_t>(context.sends);
  }
  return -1;
}

std::int64_t train_in_threads(Scope& scope, const NodeName& node, std::int32_t threads) {
  std::atomic<std::int64_t> right{0};
  std::vector<std::jthread> running;
  for (std::int32_t thread = 0; thread < threads; ++thread) {
    running.emplace_back([&, thread] {
      const DistContext context(scope);
      const Variable mine(full({2}, thread + 1.0), RequiresGrad::yes);
      Variable y = mine;
      for (int hop = 0; hop < 4; ++hop) y = context.rpc_sync(node, &product, y, constant_of(2, 2.0));
      backward(context, sum(y));
      if (same_bytes(context.grad(mine), full({2}, 16.0))) ++right;
    });
  }
  running.clear();
  return right;
}

FunctionRegistry with_gradient_functions(const FunctionRegistry& functions) {
  return functions.with({{"make_leaf", &make_leaf},
                         {"constant_of", &constant_of},
                         {"gradient_here", &gradient_here},
                         {"product", &product},
                         {"busy_product", &busy_product},
                         {"dot_of", &dot_of},
                         {"stacked", &stacked},
                         {"three_of", &three_of},
                         {"in_f64", &in_f64},
                         {"rows_of", &rows_of},
                         {"times_leaf", &times_leaf},
                         {"product_of_leaves", &product_of_leaves},
                         {"wrapped", &wrapped},
                         {"unwrapped", &unwrapped},
                         {"product_along", &product_along},
                         {"explode_along", &explode_along},
                         {"product_after_backward", &product_after_backward},
                         {"product_after_wait", &product_after_wait},
                         {"product_with_hooks", &product_with_hooks},
                         {"multiply_gradients", &multiply_gradients},
                         {"make_table", &make_table},
                         {"sparse_rows_of", &sparse_rows_of},
                         {"sparse_rows", &sparse_rows},
                         {"sparse_rows_after_backward", &sparse_rows_after_backward},
                         {"tanh_along", &tanh_along},
                         {"tensor_bytes_here", &tensor_bytes_here},
                         {"arrived_as", &arrived_as},
                         {"sends_here", &sends_here},
                         {"train_in_threads", &train_in_threads}});
}

}  // namespace troupe::testing

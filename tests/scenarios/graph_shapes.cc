#include "tests/scenarios/graph_shapes.h"

#include <cstdint>
#include <utility>

#include "actors/rref.h"
#include "autograd/ops.h"
#include "tensor/create.h"
#include "tensor/generator.h"

namespace troupe::testing {
namespace {

using Parameter = RRef<Variable>;

/// Returns a parameter with values whose sums are not exact.
Variable parameter(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  Generator generator(seed);
  return Variable(randn({rows, columns}, generator), RequiresGrad::yes);
}

Tensor gradient_here(Scope& scope, const Parameter& leaf) { return gradients(scope).of(*leaf.local_value(scope)); }

Variable project(Scope& scope, const Variable& x, const Parameter& w) { return matmul(x, *w.local_value(scope)); }

Variable squash(Scope& scope, const Variable& x, const Parameter& w) { return tanh(matmul(x, *w.local_value(scope))); }

Variable use_twice(Scope& scope, const Variable& x, const Parameter& w) {
  const Variable weight = *w.local_value(scope);
  return add(matmul(x, weight), mul(x, weight));
}

Variable sum_of(const Variable& a, const Variable& b) { return add(a, b); }
Variable product_of(const Variable& a, const Variable& b) { return mul(a, b); }

Variable mean_square(Scope& scope, const Variable& x, const Parameter& w) {
  const Variable y = matmul(x, *w.local_value(scope));
  return mean(mul(y, y));
}

template <class R, class... P, class... Args>
R call(Scope& scope, const std::string& to, R (*function)(P...), const Args&... args) {
  if (!to.empty()) return scope.rpc_sync(to, function, args...);
  if constexpr (std::is_invocable_v<R (*)(P...), Scope&, const Args&...>) {
    return function(scope, args...);
  } else {
    return function(args...);
  }
}

Variable there_and_back(Scope& scope, const Variable& x, const Parameter& v, const Parameter& w,
                        const std::string& back) {
  const Variable z = call(scope, back, &squash, matmul(x, *v.local_value(scope)), w);
  return mul(z, x);
}

/// The parameters and the context of one run.
class Run {
 public:
  explicit Run(Node& node) : node_(node), context(node) {}

  Parameter make(const std::string& name, const std::string& owner, std::int64_t rows, std::int64_t columns) {
    const Parameter made = node_.remote(place(owner), &parameter, rows, columns, std::hash<std::string>{}(name));
    leaves_.emplace_back(name, made);
    return made;
  }

  /// A leaf of the program's own node.
  Variable make_here(const std::string& name, std::int64_t rows, std::int64_t columns) {
    return *make(name, node_.name(), rows, columns).local_value(node_);
  }

  NamedGradients gradients() {
    NamedGradients found;
    for (const auto& [name, leaf] : leaves_) {
      const Tensor gradient = context.rpc_sync(leaf.owner(), &gradient_here, leaf);
      if (gradient.defined()) found[name] = gradient;
    }
    return found;
  }

  [[nodiscard]] std::string place(const std::string& name) const { return name.empty() ? node_.name() : name; }

 private:
  Node& node_;
  std::vector<std::pair<std::string, Parameter>> leaves_;

 public:
  DistContext context;
};

NamedGradients chain(Node& node, const Places& at) {
  Run run(node);
  const Variable x = run.make_here("x", 3, 4);
  const Parameter w0 = run.make("w0", at.ps0, 4, 4);
  const Parameter w1 = run.make("w1", at.ps1, 4, 2);
  const Variable hidden = call(run.context, at.ps0, &squash, x, w0);
  backward(run.context, sum(call(run.context, at.ps1, &project, hidden, w1)));
  return run.gradients();
}

NamedGradients diamond(Node& node, const Places& at) {
  Run run(node);
  const Variable x = run.make_here("x", 3, 4);
  const Parameter w0 = run.make("w0", at.ps0, 4, 4);
  const Parameter w1 = run.make("w1", at.ps1, 4, 4);
  const Variable a = call(run.context, at.ps0, &project, x, w0);
  const Variable b = call(run.context, at.ps1, &squash, x, w1);
  backward(run.context, sum(mul(a, b)));
  return run.gradients();
}

NamedGradients back_and_forth(Node& node, const Places& at) {
  Run run(node);
  const Variable x = run.make_here("x", 4, 4);
  const Parameter v = run.make("v", at.ps0, 4, 4);
  const Parameter w = run.make("w", at.trainer, 4, 4);
  const Variable y = call(run.context, at.ps0, &there_and_back, x, v, w, at.trainer);
  backward(run.context, sum(matmul(y, *w.local_value(node))));
  return run.gradients();
}

// The example of PyTorch's note on distributed autograd, whose FAST mode waits for ever for the gradient of `t4`.
NamedGradients unused_result(Node& node, const Places& at) {
  Run run(node);
  const Variable t1 = run.make_here("t1", 3, 3);
  const Variable t2 = run.make_here("t2", 3, 3);
  const Variable t3 = call(run.context, at.ps0, &sum_of, t1, t2);
  const Variable t4 = call(run.context, at.ps0, &product_of, t1, t3);
  const Variable t5 = call(run.context, at.ps0, &product_of, t3, t2);
  backward(run.context, sum(t5));
  return run.gradients();
}

NamedGradients two_roots(Node& node, const Places& at) {
  Run run(node);
  const Variable x = run.make_here("x", 3, 4);
  const Parameter w = run.make("w", at.ps0, 4, 4);
  const Variable here = sum(call(run.context, at.ps0, &squash, x, w));
  if (at.ps0.empty()) {
    backward(run.context, {here, mean_square(run.context, x, w)});
    return run.gradients();
  }
  const Parameter there = run.context.remote(at.ps0, &mean_square, x, w);
  backward(run.context, {here, there});
  return run.gradients();
}

NamedGradients many_uses(Node& node, const Places& at) {
  Run run(node);
  const Variable x = run.make_here("x", 3, 3);
  const Parameter w0 = run.make("w0", at.ps0, 3, 3);
  const Parameter w1 = run.make("w1", at.ps1, 3, 3);
  const Variable a = call(run.context, at.ps0, &use_twice, x, w0);
  const Variable b = call(run.context, at.ps1, &use_twice, x, w1);
  backward(run.context, sum(add(mul(a, b), tanh(x))));
  return run.gradients();
}

}  // namespace

FunctionRegistry graph_functions() {
  return {{"parameter", &parameter},   {"gradient_here", &gradient_here}, {"project", &project},
          {"squash", &squash},         {"use_twice", &use_twice},         {"sum_of", &sum_of},
          {"product_of", &product_of}, {"mean_square", &mean_square},     {"there_and_back", &there_and_back}};
}

const std::vector<GraphShape>& graph_shapes() {
  static const std::vector<GraphShape> shapes{{"chain", &chain},
                                              {"diamond over two nodes", &diamond},
                                              {"A->B->A", &back_and_forth},
                                              {"unused result", &unused_result},
                                              {"two roots, one remote", &two_roots},
                                              {"x twice on each of two callees and once here", &many_uses}};
  return shapes;
}

}  // namespace troupe::testing

#include "tests/scenarios/random_graph.h"

#include <fmt/format.h>

#include <optional>
#include <random>
#include <utility>

#include "autograd/ops.h"
#include "tensor/create.h"
#include "tensor/generator.h"

namespace troupe::testing {
namespace {

using Parameters = std::vector<RRef<Variable>>;

constexpr std::int64_t kSize = 3;

/// Returns numbers whose sums are not exact.
Tensor numbers(std::uint64_t seed, DType dtype) {
  Generator generator(seed);
  return uniform({kSize}, -1.0, 1.0, generator, dtype);
}

Variable make_leaf_of(std::uint64_t seed, DType dtype) { return Variable(numbers(seed, dtype), RequiresGrad::yes); }

Variable times_here(Scope& scope, const Variable& x, const RRef<Variable>& parameter) {
  return x * *parameter.local_value(scope);
}

std::vector<Variable> run_part(Scope& scope, const GraphScript& script, const std::vector<Variable>& given,
                               const Parameters& parameters);
Variable run_for_one(Scope& scope, const GraphScript& script, const std::vector<Variable>& given,
                     const Parameters& parameters);
/// These require gradients, whatever was drawn.
Variable run_for_sum(Scope& scope, const GraphScript& script, const std::vector<Variable>& given,
                     const Parameters& parameters);
Variable run_for_product(Scope& scope, const GraphScript& script, const std::vector<Variable>& given,
                         const Parameters& parameters);

/// The statements of one function. Draws depend on the seed only.
class Part {
 public:
  Part(Scope scope, GraphScript script, std::vector<Variable> given, const Parameters& parameters)
      : scope_(std::move(scope)),
        script_(std::move(script)),
        random_(script_.seed),
        values_(std::move(given)),
        parameters_(parameters) {}

  void run() {
    values_.emplace_back(numbers(random_(), script_.dtype));  // a constant
    for (std::uint32_t i = 0; i < script_.statements; ++i) state();
    for (const auto& call : calls_) take(call.get());
    calls_.clear();
  }

  [[nodiscard]] const Variable& value() { return values_[draw(values_.size())]; }
  [[nodiscard]] std::vector<Variable> some_values() {
    std::vector<Variable> some(1 + draw(3));
    for (Variable& each : some) each = value();
    return some;
  }
  [[nodiscard]] const NodeName& place() { return script_.places[draw(script_.places.size())]; }
  [[nodiscard]] GraphScript below() {
    GraphScript next = script_;
    next.seed = random_();
    next.depth = script_.depth == 0 ? 0 : script_.depth - 1;
    next.statements = script_.depth == 0 ? 2 : script_.statements / 2 + 1;
    return next;
  }
  std::size_t draw(std::size_t below) { return random_() % below; }
  void count(const char* what) { ++counts_[what]; }
  [[nodiscard]] const StatementCounts& counts() const { return counts_; }

 private:
  void state() {
    const std::size_t kinds = script_.depth == 0 ? 6 : 11;
    switch (draw(kinds)) {
      case 0: return add("tanh", tanh(value()));
      case 1: return add("add", value() + value());
      case 2: return add("mul", value() * value());
      case 3: return add("scale", value() * (0.5 + 0.1 * static_cast<double>(draw(10))));
      case 4: {  // the parameter comes here
        const RRef<Variable>& parameter = parameters_[draw(parameters_.size())];
        return add("fetch", value() * parameter.to_here(scope_));
      }
      case 5: {  // the value goes there
        const RRef<Variable>& parameter = parameters_[draw(parameters_.size())];
        return add("at the owner", scope_.rpc_sync(parameter.owner(), &times_here, value(), parameter));
      }
      case 6:
      case 7: {
        count("call");
        const NodeName& to = place();
        const GraphScript script = below();
        return take(scope_.rpc_sync(to, &run_part, script, some_values(), parameters_));
      }
      case 8: {
        count("later call");
        const NodeName& to = place();
        const GraphScript script = below();
        calls_.push_back(scope_.rpc_async(to, &run_part, script, some_values(), parameters_));
        return;
      }
      case 9: {
        const NodeName& to = place();
        const GraphScript script = below();
        return add("remote", scope_.remote(to, &run_for_one, script, some_values(), parameters_).to_here(scope_));
      }
      default: return nested_context();
    }
  }

  /// A pass in a context of its own, over leaves of its own and the common parameters.
  void nested_context() {
    const Variable leaf(value().value(), RequiresGrad::yes);
    const DistContext inner(scope_);
    const NodeName& to = place();
    const GraphScript script = below();
    const Variable result = inner.rpc_sync(to, &run_for_sum, script, std::vector<Variable>{leaf, leaf}, parameters_);
    backward(inner, result + sum(leaf * 0.3));
    add("nested context", value() * Variable(inner.grad(leaf)));
  }

  void add(const char* what, Variable value) {
    count(what);
    values_.push_back(std::move(value));
  }
  void take(const std::vector<Variable>& more) { values_.insert(values_.end(), more.begin(), more.end()); }

  const Scope scope_;
  const GraphScript script_;
  std::mt19937_64 random_;
  std::vector<Variable> values_;
  const Parameters& parameters_;
  std::vector<Future<std::vector<Variable>>> calls_;
  StatementCounts counts_;
};

std::vector<Variable> run_part(Scope& scope, const GraphScript& script, const std::vector<Variable>& given,
                               const Parameters& parameters) {
  Part part(scope, script, given, parameters);
  part.run();
  return part.some_values();
}

Variable run_for_one(Scope& scope, const GraphScript& script, const std::vector<Variable>& given,
                     const Parameters& parameters) {
  return run_part(scope, script, given, parameters).front();
}

Variable run_for_sum(Scope& scope, const GraphScript& script, const std::vector<Variable>& given,
                     const Parameters& parameters) {
  return sum(run_for_one(scope, script, given, parameters)) + sum(given.front());
}

Variable run_for_product(Scope& scope, const GraphScript& script, const std::vector<Variable>& given,
                         const Parameters& parameters) {
  return run_for_one(scope, script, given, parameters) * given.front();
}

/// Draws the roots of one pass: here or on another name, with or without a gradient.
std::vector<Root> roots_of(const DistContext& context, Part& part, const GraphScript& script,
                           const std::vector<Variable>& leaves, const Parameters& parameters) {
  std::vector<Root> roots;
  const std::size_t count = 1 + part.draw(3);
  while (roots.size() < count) {
    const Tensor gradient = numbers(part.draw(1000), script.dtype);
    const NodeName& to = part.place();
    const GraphScript below = part.below();
    switch (part.draw(4)) {
      case 0:
        part.count("root");
        roots.emplace_back(sum(part.value() + leaves.front()));
        break;
      case 1:
        part.count("root with gradient");
        roots.emplace_back(part.value() * leaves.front(), gradient);
        break;
      case 2:
        part.count("remote root");
        roots.emplace_back(context.remote(to, &run_for_sum, below, leaves, parameters));
        break;
      default: {
        part.count("remote root with gradient");
        const RRef<Variable> there = context.remote(to, &run_for_product, below, leaves, parameters);
        roots.emplace_back(there, gradient);
        if (part.draw(2) == 0) roots.emplace_back(sum(there.to_here(context) * part.value()));
        break;
      }
    }
  }
  return roots;
}

DistBackwardOptions options_of(Part& part, const std::vector<Variable>& leaves, const Parameters& parameters) {
  DistBackwardOptions options;
  if (part.draw(3) != 0) return options;
  part.count("inputs");
  options.inputs.emplace_back(leaves[part.draw(leaves.size())]);
  for (std::size_t i = part.draw(3); i > 0; --i) options.inputs.emplace_back(parameters[part.draw(parameters.size())]);
  return options;
}

}  // namespace

GraphOutcome run_graph(Node& node, const GraphScript& script) {
  std::mt19937_64 random(script.seed * 2 + 1);
  Parameters parameters;
  for (int i = 0; i < 3; ++i) {
    const NodeName& owner = script.places[random() % script.places.size()];
    parameters.push_back(node.remote(owner, &make_leaf_of, random(), script.dtype));
  }
  const std::vector<Variable> leaves{make_leaf_of(random(), script.dtype), make_leaf_of(random(), script.dtype)};
  const DistContext context(node);
  Part part(context, script, leaves, parameters);
  part.run();
  const std::size_t passes = 1 + part.draw(2);
  for (std::size_t pass = 0; pass < passes; ++pass) {
    const std::vector<Root> roots = roots_of(context, part, script, leaves, parameters);
    DistBackwardOptions options = options_of(part, leaves, parameters);
    if (pass + 1 == passes && part.draw(3) == 0) {
      part.count("release");
      options.graph = Graph::release;
    }
    backward(context, roots, options);
  }
  GraphOutcome outcome;
  const auto keep = [&](const std::string& name, const Tensor& gradient) {
    if (gradient.defined()) outcome.gradients[name] = gradient;
  };
  for (std::size_t i = 0; i < leaves.size(); ++i) keep(fmt::format("x{}", i), context.grad(leaves[i]));
  for (std::size_t i = 0; i < parameters.size(); ++i) keep(fmt::format("w{}", i), context.grad(parameters[i]));
  outcome.counts = part.counts();
  return outcome;
}

FunctionRegistry random_graph_functions() {
  return {{"make_leaf_of", &make_leaf_of}, {"times_here", &times_here},   {"run_part", &run_part},
          {"run_for_one", &run_for_one},   {"run_for_sum", &run_for_sum}, {"run_for_product", &run_for_product}};
}

}  // namespace troupe::testing

#include "tests/scenarios/random_graph.h"

#include <fmt/format.h>

#include <optional>
#include <random>
#include <utility>

#include "autograd/ops.h"
#include "tensor/create.h"
#include "tensor/generator.h"
#include "tests/scenarios/random_modules.h"

namespace troupe::testing {
namespace {

using Parameters = std::vector<RRef<Variable>>;

/// What the statements refer to.
struct Shared {
  Parameters parameters;
  RandomModules modules;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(parameters, modules);
  }
};

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
                               const Shared& shared);
Variable run_for_one(Scope& scope, const GraphScript& script, const std::vector<Variable>& given, const Shared& shared);
/// These require gradients, whatever was drawn.
Variable run_for_sum(Scope& scope, const GraphScript& script, const std::vector<Variable>& given, const Shared& shared);
Variable run_for_product(Scope& scope, const GraphScript& script, const std::vector<Variable>& given,
                         const Shared& shared);

/// The statements of one function. Draws depend on the seed only.
class Part {
 public:
  Part(Scope scope, GraphScript script, std::vector<Variable> given, const Shared& shared)
      : scope_(std::move(scope)),
        script_(std::move(script)),
        random_(script_.seed),
        values_(std::move(given)),
        shared_(shared) {}

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
    const std::size_t kinds = script_.depth == 0 ? 6 : 14;
    switch (draw(kinds)) {
      case 0: return add("tanh", tanh(value()));
      case 1: return add("add", value() + value());
      case 2: return add("mul", value() * value());
      case 3: return add("scale", value() * (0.5 + 0.1 * static_cast<double>(draw(10))));
      case 4: {  // the parameter comes here
        const RRef<Variable>& parameter = shared_.parameters[draw(shared_.parameters.size())];
        return add("fetch", value() * parameter.to_here(scope_));
      }
      case 5: {  // the value goes there
        const RRef<Variable>& parameter = shared_.parameters[draw(shared_.parameters.size())];
        return add("at the owner", scope_.rpc_sync(parameter.owner(), &times_here, value(), parameter));
      }
      case 6:
      case 7: {
        count("call");
        const NodeName& to = place();
        const GraphScript script = below();
        return take(scope_.rpc_sync(to, &run_part, script, some_values(), shared_));
      }
      case 8: {
        count("later call");
        const NodeName& to = place();
        const GraphScript script = below();
        calls_.push_back(scope_.rpc_async(to, &run_part, script, some_values(), shared_));
        return;
      }
      case 9: {
        const NodeName& to = place();
        const GraphScript script = below();
        return add("remote", scope_.remote(to, &run_for_one, script, some_values(), shared_).to_here(scope_));
      }
      case 10: return nested_context();
      case 11: return add("remote module", layer().forward(scope_, value()));
      case 12: {
        if (!script_.uses_parallel) return add("remote module", layer().forward(scope_, value()));
        return add("parallel layer", shared_.modules.parallel.forward(scope_, value()));
      }
      default: return pipeline();
    }
  }

  [[nodiscard]] const RemoteModule<NumberLayer>& layer() {
    return shared_.modules.layers[draw(shared_.modules.layers.size())];
  }

  /// Two or three layers, which may be the same, and the replicas.
  void pipeline() {
    std::vector<std::size_t> numbers(2 + draw(2));
    for (std::size_t& number : numbers) number = draw(shared_.modules.layers.size());
    const bool with_parallel = draw(3) == 0 && script_.uses_parallel;
    PipelineOptions options{.chunks = static_cast<std::int64_t>(1 + draw(3))};
    options.schedule = draw(2) == 0 ? Schedule::fill_drain : Schedule::one_f_one_b;
    const auto recompute = static_cast<Recompute>(draw(3));
    if (!with_parallel) options.recompute = recompute;  // what a replica does cannot be recomputed
    const Pipeline<> net = shared_.modules.pipeline(scope_, numbers, with_parallel, options);
    if (with_parallel) count("pipeline of replicas");
    if (options.schedule == Schedule::fill_drain) count("pipeline that fills and drains");
    if (options.recompute == Recompute::except_last) count("pipeline that recomputes all but the last");
    if (options.recompute == Recompute::always) count("pipeline that recomputes");
    switch (draw(3)) {
      case 0: return add("pipeline", net.forward(scope_, value()));
      case 1: return add("pipeline with a remote result", net.forward_remote(scope_, value()).to_here(scope_));
      default: return add("pipeline with a loss", value() * net.loss(scope_, value(), &loss_of_squares));
    }
  }

  /// A pass in a context of its own, over leaves of its own and the common parameters.
  void nested_context() {
    const Variable leaf(value().value(), RequiresGrad::yes);
    const DistContext inner(scope_);
    const NodeName& to = place();
    GraphScript script = below();
    script.uses_parallel = false;
    const Variable result = inner.rpc_sync(to, &run_for_sum, script, std::vector<Variable>{leaf, leaf}, shared_);
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
  const Shared& shared_;
  std::vector<Future<std::vector<Variable>>> calls_;
  StatementCounts counts_;
};

std::vector<Variable> run_part(Scope& scope, const GraphScript& script, const std::vector<Variable>& given,
                               const Shared& shared) {
  Part part(scope, script, given, shared);
  part.run();
  return part.some_values();
}

Variable run_for_one(Scope& scope, const GraphScript& script, const std::vector<Variable>& given,
                     const Shared& shared) {
  return run_part(scope, script, given, shared).front();
}

Variable run_for_sum(Scope& scope, const GraphScript& script, const std::vector<Variable>& given,
                     const Shared& shared) {
  return sum(run_for_one(scope, script, given, shared)) + sum(given.front());
}

Variable run_for_product(Scope& scope, const GraphScript& script, const std::vector<Variable>& given,
                         const Shared& shared) {
  return run_for_one(scope, script, given, shared) * given.front();
}

/// Draws the roots of one pass: here or on another name, with or without a gradient.
std::vector<Root> roots_of(const DistContext& context, Part& part, const GraphScript& script,
                           const std::vector<Variable>& leaves, const Shared& shared) {
  std::vector<Root> roots;
  const std::size_t count = 1 + part.draw(3);
  while (roots.size() < count) {
    const Tensor gradient = numbers(part.draw(1000), script.dtype);
    const NodeName& to = part.place();
    GraphScript below = part.below();
    below.uses_parallel = false;  // who takes part in the pass is known before it begins
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
        roots.emplace_back(context.remote(to, &run_for_sum, below, leaves, shared));
        break;
      default: {
        part.count("remote root with gradient");
        const RRef<Variable> there = context.remote(to, &run_for_product, below, leaves, shared);
        roots.emplace_back(there, gradient);
        if (part.draw(2) == 0) roots.emplace_back(sum(there.to_here(context) * part.value()));
        break;
      }
    }
  }
  return roots;
}

DistBackwardOptions options_of(Part& part, const std::vector<Variable>& leaves, const Shared& shared) {
  DistBackwardOptions options;
  if (part.draw(3) != 0) return options;
  part.count("inputs");
  options.inputs.emplace_back(leaves[part.draw(leaves.size())]);
  for (std::size_t i = part.draw(3); i > 0; --i)
    options.inputs.emplace_back(shared.parameters[part.draw(shared.parameters.size())]);
  return options;
}

/// Makes the parameters and modules of a program on the places that are drawn.
Shared make_shared_parts(Node& node, const GraphScript& script, const GraphGroup& group, std::mt19937_64& random) {
  const std::uint64_t own = group.rank * 1'000'003;
  const auto place = [&]() -> const NodeName& { return script.places[random() % script.places.size()]; };
  Shared shared;
  for (int i = 0; i < 3; ++i) {
    const NodeName& owner = place();
    shared.parameters.push_back(node.remote(owner, &make_leaf_of, random() + own, script.dtype));
  }
  for (int i = 0; i < 3; ++i) {
    const NodeName& owner = place();
    shared.modules.layers.emplace_back(node, owner, number_layer, random() + own, script.dtype);
  }
  shared.modules.parallel =
      RemoteModule(node.remote(node.name(), &make_parallel_layer, group.members, random(), script.dtype));
  shared.modules.uses_options = group.splits;
  return shared;
}

GraphOutcome outcome_of(Node& node, const DistContext& context, const std::vector<Variable>& leaves,
                        const Shared& shared) {
  GraphOutcome outcome;
  const auto keep = [&](const std::string& name, const Tensor& gradient) {
    if (gradient.defined()) outcome.gradients[name] = gradient;
  };
  for (std::size_t i = 0; i < leaves.size(); ++i) keep(fmt::format("x{}", i), context.grad(leaves[i]));
  for (std::size_t i = 0; i < shared.parameters.size(); ++i) {
    keep(fmt::format("w{}", i), context.grad(shared.parameters[i]));
  }
  const auto keep_all = [&](const std::string& name, const Parameters& parameters) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      keep(fmt::format("{}.{}", name, i), context.grad(parameters[i]));
    }
  };
  for (std::size_t i = 0; i < shared.modules.layers.size(); ++i) {
    keep_all(fmt::format("layer{}", i), shared.modules.layers[i].remote_parameters(node));
  }
  keep_all("parallel", shared.modules.parallel.remote_parameters(node));
  return outcome;
}

}  // namespace

GraphOutcome run_graph(Node& node, const GraphScript& script, const GraphGroup& group) {
  std::mt19937_64 random(script.seed * 2 + 1);
  const Shared shared = make_shared_parts(node, script, group, random);
  const std::uint64_t own = group.rank * 1'000'003;
  const std::vector<Variable> leaves{make_leaf_of(random() + own, script.dtype),
                                     make_leaf_of(random() + own, script.dtype)};
  const DistContext context(node);
  Part part(context, script, leaves, shared);
  part.run();
  const std::size_t passes = 1 + part.draw(2);
  for (std::size_t pass = 0; pass < passes; ++pass) {
    const std::vector<Root> roots = roots_of(context, part, script, leaves, shared);
    DistBackwardOptions options = options_of(part, leaves, shared);
    if (pass + 1 == passes && part.draw(3) == 0) {
      part.count("release");
      options.graph = Graph::release;
    }
    backward(context, roots, options);
  }
  GraphOutcome outcome = outcome_of(node, context, leaves, shared);
  outcome.counts = part.counts();
  return outcome;
}

FunctionRegistry random_graph_functions() {
  return with_random_modules({{"make_leaf_of", &make_leaf_of},
                              {"times_here", &times_here},
                              {"run_part", &run_part},
                              {"run_for_one", &run_for_one},
                              {"run_for_sum", &run_for_sum},
                              {"run_for_product", &run_for_product}});
}

}  // namespace troupe::testing

#include "autograd/engine.h"

#include <fmt/format.h>

#include <utility>

#include "autograd/describe.h"
#include "autograd/ops.h"
#include "autograd/pass.h"
#include "autograd/watch.h"
#include "tensor/create.h"

namespace troupe {
namespace {

void require_gradient(const Variable& root) {
  if (!root.requires_grad()) throw TensorError("[backward] the root requires no gradient");
}

std::vector<detail::Pass::Input> with_edges(std::span<const Variable> inputs) {
  std::vector<detail::Pass::Input> all;
  for (const Variable& input : inputs) {
    if (!input.defined() || !input.requires_grad()) {
      throw TensorError(fmt::format("[backward] input {} requires no gradient", all.size()));
    }
    all.push_back({input, input.gradient_edge()});
  }
  return all;
}

void check_fits(const Variable& root, const Tensor& gradient) {
  if (!gradient.defined()) return;
  const Tensor value = root.value();
  if (gradient.shape() != value.shape() || gradient.dtype() != value.dtype()) {
    throw TensorError(fmt::format("[backward] the gradient of a root does not fit: {} instead of {}",
                                  detail::describe(gradient), detail::describe(value)));
  }
  if (gradient.device() != value.device()) {
    throw DeviceError(fmt::format("[backward] the gradient of a root is on {}, the root on {}",
                                  to_string(gradient.device()), to_string(value.device())));
  }
}

/// The roots of a pass inside one node, with their initial gradients.
struct Start {
  Start(std::span<const Variable> roots, std::span<const Tensor> given) {
    if (roots.empty()) throw TensorError("[backward] there are no roots");
    if (!given.empty() && given.size() != roots.size()) {
      throw TensorError(fmt::format("[backward] {} root gradients for {} roots", given.size(), roots.size()));
    }
    for (std::size_t i = 0; i < roots.size(); ++i) {
      require_gradient(roots[i]);
      gradients.push_back(!given.empty() && given[i].defined() ? given[i] : initial_gradient(roots[i]));
      check_fits(roots[i], gradients.back());
      edges.push_back(roots[i].gradient_edge());
    }
  }

  std::vector<Edge> edges;
  std::vector<Tensor> gradients;
};

/// The sink of a pass inside one node, which no gradient leaves.
class NoSink final : public GradientSink {
 public:
  void deliver(const std::shared_ptr<const RecvFn>&, std::vector<Tensor>) override {
    throw std::logic_error("[backward] a gradient left the node in a local pass");
  }
};

/// Marks the pass and feeds its roots.
void start_inside_node(detail::Pass& pass, Start start, const BackwardOptions& options) {
  for (const Edge& root : start.edges) {
    if (!pass.mark(root).empty()) {
      throw std::logic_error(
          "[backward] the graph reaches a value received from another node: differentiate it in a DistContext");
    }
  }
  if (!options.inputs.empty()) pass.keep_only(with_edges(options.inputs));
  for (std::size_t i = 0; i < start.edges.size(); ++i) {
    if (pass.awaits(start.edges[i])) pass.feed(start.edges[i], std::move(start.gradients[i]));
  }
}

}  // namespace

GraphTask::GraphTask() : GraphTask(Graph::keep) {}
GraphTask::GraphTask(Graph graph) : pass_(std::make_unique<detail::Pass>(graph)) {}
GraphTask::~GraphTask() = default;
GraphTask::GraphTask(GraphTask&&) noexcept = default;
GraphTask& GraphTask::operator=(GraphTask&&) noexcept = default;

std::vector<std::shared_ptr<const RecvFn>> GraphTask::mark(const Variable& root, Hooks hooks) {
  require_gradient(root);
  return pass_->mark(root.gradient_edge(), hooks);
}
std::vector<std::shared_ptr<const RecvFn>> GraphTask::mark(const std::shared_ptr<const SendFn>& send, Hooks hooks) {
  return pass_->mark(send, hooks);
}
void GraphTask::keep_only(std::span<const Variable> inputs) { pass_->keep_only(with_edges(inputs)); }
void GraphTask::remember_operations() { pass_->remember_operations(); }
void GraphTask::release_operations() noexcept { pass_->release_operations(); }
bool GraphTask::awaits(const Variable& root) const { return pass_->awaits(root.gradient_edge()); }
void GraphTask::feed(const Variable& root, Tensor gradient) {
  const Edge edge = root.gradient_edge();
  if (pass_->awaits(edge)) check_fits(root, gradient);
  pass_->feed(edge, std::move(gradient));
}
void GraphTask::feed(const SendFn& send, std::vector<Tensor> gradients) { pass_->feed(send, std::move(gradients)); }
void GraphTask::run(GradientSink& sink) { pass_->run(sink); }
bool GraphTask::finished() const noexcept { return pass_->finished(); }
std::size_t GraphTask::vertex_count() const noexcept { return pass_->vertex_count(); }
Gradients GraphTask::take_gradients() { return pass_->take_gradients(); }

Tensor initial_gradient(const Variable& root) {
  require_gradient(root);
  const Tensor value = root.value();
  if (value.numel() != 1) {
    throw TensorError(fmt::format("[backward] a root without a given gradient needs exactly one element: {}",
                                  detail::describe(value)));
  }
  return ones(value.shape(), value.dtype(), value.device());
}

Variable seeded_root(const Variable& root, const Tensor& gradient) {
  require_gradient(root);
  check_fits(root, gradient);
  const EnableGradGuard recorded;
  const detail::WithoutAnomalyGuard unwatched;  // these two are none of the user's operations
  return sum(root * Variable(gradient));
}

Gradients backward(const Variable& root, const BackwardOptions& options) {
  return backward(std::span(&root, 1), {}, options);
}

Gradients backward(Variable&& root, const BackwardOptions& options) {
  detail::Pass pass(options.graph);
  start_inside_node(pass, Start(std::span(&root, 1), {}), options);
  if (!root.is_leaf()) root = Variable();
  NoSink sink;
  pass.run(sink);
  return pass.take_gradients();
}

Gradients backward(std::span<const Variable> roots, std::span<const Tensor> root_gradients,
                   const BackwardOptions& options) {
  detail::Pass pass(options.graph);
  start_inside_node(pass, Start(roots, root_gradients), options);
  NoSink sink;
  pass.run(sink);
  return pass.take_gradients();
}

std::vector<Tensor> grad(std::span<const Variable> outputs, std::span<const Variable> inputs,
                         std::span<const Tensor> output_gradients, const BackwardOptions& options) {
  if (!options.inputs.empty()) throw ValueError("[grad] options.inputs: the inputs are an argument of grad()");
  std::vector<Edge> ends;
  for (const Variable& input : inputs) {
    if (!input.requires_grad()) throw TensorError(fmt::format("[grad] input {} requires no gradient", ends.size()));
    ends.push_back(input.gradient_edge());
  }
  std::vector<Tensor> found;
  {
    Start start(outputs, output_gradients);
    detail::Pass pass(options.graph);
    for (const Edge& root : start.edges) static_cast<void>(pass.mark(root));
    pass.restrict_to(ends);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (pass.awaits(start.edges[i])) pass.feed(start.edges[i], std::move(start.gradients[i]));
    }
    NoSink sink;
    pass.run(sink);
    for (const Edge& end : ends) found.push_back(pass.taken(end));
  }
  for (Tensor& gradient : found) {
    if (gradient.defined()) gradient = detail::owned(std::move(gradient));
  }
  return found;
}

Tensor grad(const Variable& output, const Variable& input, const BackwardOptions& options) {
  return grad(std::span(&output, 1), std::span(&input, 1), {}, options).front();
}

}  // namespace troupe

#include "autograd/engine.h"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "autograd/contributions.h"
#include "autograd/describe.h"
#include "autograd/leaf_fn.h"
#include "tensor/create.h"

namespace troupe {
namespace {

/// A leaf's gradient must be its own: not a view that repeats elements, not storage that somebody else can see.
Tensor owned(Tensor gradient) {
  if (!gradient.is_contiguous() || gradient.storage().handle_count() > 1) return gradient.clone();
  return gradient;
}

void require_gradient(const Variable& root) {
  if (!root.requires_grad()) throw TensorError("[backward] the root requires no gradient");
}

/// For passes inside one node, where nothing leaves.
class NoSink final : public GradientSink {
 public:
  void deliver(const std::shared_ptr<const RecvFn>&, std::vector<Tensor>) override {
    throw std::logic_error("[backward] a gradient left the node in a local pass");
  }
};

}  // namespace

class GraphTask::Pass {
 public:
  using Recvs = std::vector<std::shared_ptr<const RecvFn>>;

  Recvs mark(const Variable& root) {
    require_gradient(root);
    if (ran_count_ > 0) throw std::logic_error("[backward] a root was marked after the pass began to run");
    Edge edge = root.gradient_edge();
    awaited_roots_[{edge.fn.get(), edge.slot}].push_back(root_count_++);
    return close_over(edge.fn);
  }

  Recvs mark(const std::shared_ptr<const SendFn>& send) {
    if (!sends_.try_emplace(send.get(), Fed::no).second) return {};
    if (ran_count_ > 0) throw std::logic_error("[backward] a SendFn was marked after the pass began to run");
    return close_over(send);
  }

  void feed(const Variable& root, Tensor gradient) {
    const Edge edge = root.gradient_edge();
    auto awaited = awaited_roots_.find({edge.fn.get(), edge.slot});
    if (awaited == awaited_roots_.end()) {
      throw TensorError("[backward] a gradient came for a root that waits for none");
    }
    const Tensor value = root.value();
    if (gradient.defined() && (gradient.shape() != value.shape() || gradient.dtype() != value.dtype())) {
      throw TensorError(fmt::format("[backward] the gradient of a root does not fit: {} instead of {}",
                                    detail::describe(gradient), detail::describe(value)));
    }
    const std::uint32_t order = awaited->second.front();
    awaited->second.erase(awaited->second.begin());
    if (awaited->second.empty()) awaited_roots_.erase(awaited);
    arrive(edge, nullptr, order, std::move(gradient));
  }

  void feed(const SendFn& send, std::vector<Tensor> gradients) {
    send.check(gradients);
    auto marked = sends_.find(&send);
    if (marked == sends_.end() || marked->second == Fed::yes) {
      throw TensorError("[backward] gradients came for a SendFn that waits for none");
    }
    marked->second = Fed::yes;
    Vertex& vertex = vertices_.at(&send);
    for (std::uint32_t slot = 0; slot < gradients.size(); ++slot) {
      if (gradients[slot].defined()) vertex.arrived.push_back({slot, nullptr, 0, std::move(gradients[slot])});
    }
    count_down(vertex);
  }

  void run(GradientSink& sink) {
    if (failure_) throw BackwardError(*failure_);
    while (Vertex* vertex = take_ready()) {
      ++ran_count_;
      std::vector<Tensor> gradients = detail::sum_by_slot(std::move(vertex->arrived), vertex->fn->slot_count());
      switch (vertex->fn->kind()) {
        case VertexKind::recv:
          sink.deliver(std::static_pointer_cast<const RecvFn>(vertex->fn), std::move(gradients));
          break;
        case VertexKind::leaf: keep(static_cast<const LeafFn&>(*vertex->fn), std::move(gradients.front())); break;
        case VertexKind::send:
        case VertexKind::operation: pass_on(*vertex->fn, std::move(gradients)); break;
      }
    }
  }

  [[nodiscard]] bool finished() const noexcept { return ran_count_ == vertices_.size(); }
  [[nodiscard]] std::size_t vertex_count() const noexcept { return vertices_.size(); }
  [[nodiscard]] Gradients take_gradients() { return std::exchange(gradients_, {}); }

 private:
  enum class Fed : std::uint8_t { no, yes };

  struct Vertex {
    std::shared_ptr<const GradFn> fn;
    std::size_t awaited = 0;  ///< edges of marked vertices and feeds that have not delivered yet
    std::vector<detail::Contribution> arrived;
  };

  /// Marks all that is reachable from `start`, which expects one arrival more.
  Recvs close_over(const std::shared_ptr<const GradFn>& start) {
    Recvs reached;
    std::vector<const GradFn*> to_visit;
    auto expect_one = [&](const std::shared_ptr<const GradFn>& fn) {
      auto [place, is_new] = vertices_.try_emplace(fn.get());
      Vertex& vertex = place->second;
      ++vertex.awaited;
      if (!is_new) return;
      vertex.fn = fn;
      to_visit.push_back(fn.get());
      if (fn->kind() == VertexKind::recv) reached.push_back(std::static_pointer_cast<const RecvFn>(fn));
    };
    expect_one(start);
    while (!to_visit.empty()) {
      const GradFn* fn = to_visit.back();
      to_visit.pop_back();
      for (const Edge& edge : fn->next()) {
        if (edge) expect_one(edge.fn);
      }
    }
    return reached;
  }

  void arrive(const Edge& edge, const CreationMark* from, std::uint32_t index, Tensor gradient) {
    Vertex& vertex = vertices_.at(edge.fn.get());
    if (gradient.defined()) vertex.arrived.push_back({edge.slot, from, index, std::move(gradient)});
    count_down(vertex);
  }

  void count_down(Vertex& vertex) {
    if (--vertex.awaited > 0) return;
    // Others wait for what leaves the node, so that goes first.
    (vertex.fn->kind() == VertexKind::recv ? ready_recvs_ : ready_).push_back(&vertex);
  }

  Vertex* take_ready() {
    std::vector<Vertex*>& from = ready_recvs_.empty() ? ready_ : ready_recvs_;
    if (from.empty()) return nullptr;
    Vertex* vertex = from.back();
    from.pop_back();
    return vertex;
  }

  void keep(const LeafFn& leaf, Tensor gradient) {
    if (!gradient.defined()) return;
    if (const Variable variable = leaf.variable(); variable.defined())
      gradients_.add(variable, owned(std::move(gradient)));
  }

  void pass_on(const GradFn& fn, std::vector<Tensor> gradients) {
    std::vector<Tensor> results = apply(fn, std::move(gradients));
    const std::span<const Edge> next = fn.next();
    for (std::uint32_t i = 0; i < next.size(); ++i) {
      if (next[i]) arrive(next[i], &fn.mark(), i, std::move(results[i]));
    }
  }

  std::vector<Tensor> apply(const GradFn& fn, std::vector<Tensor> gradients) {
    bool any = false;
    for (const Tensor& gradient : gradients) any = any || gradient.defined();
    if (!any) return std::vector<Tensor>(fn.next().size());
    try {
      std::vector<Tensor> results = fn.apply(std::move(gradients));
      if (results.size() == fn.next().size()) return results;
      failure_ =
          fmt::format("[backward] {}: gave {} gradients for {} inputs", fn.name(), results.size(), fn.next().size());
    } catch (const std::exception& e) {
      failure_ = fmt::format("[backward] {}: {}", fn.name(), e.what());
    } catch (...) {
      failure_ = fmt::format("[backward] {}: threw something that is no std::exception", fn.name());
    }
    throw BackwardError(*failure_);
  }

  std::unordered_map<const GradFn*, Vertex> vertices_;  // references to its values stay valid while it grows
  std::map<std::pair<const GradFn*, std::uint32_t>, std::vector<std::uint32_t>> awaited_roots_;
  std::unordered_map<const SendFn*, Fed> sends_;
  std::vector<Vertex*> ready_;
  std::vector<Vertex*> ready_recvs_;
  std::size_t ran_count_ = 0;
  std::uint32_t root_count_ = 0;
  Gradients gradients_;
  std::optional<std::string> failure_;
};

GraphTask::GraphTask() : pass_(std::make_unique<Pass>()) {}
GraphTask::~GraphTask() = default;
GraphTask::GraphTask(GraphTask&&) noexcept = default;
GraphTask& GraphTask::operator=(GraphTask&&) noexcept = default;

std::vector<std::shared_ptr<const RecvFn>> GraphTask::mark(const Variable& root) { return pass_->mark(root); }
std::vector<std::shared_ptr<const RecvFn>> GraphTask::mark(const std::shared_ptr<const SendFn>& send) {
  return pass_->mark(send);
}
void GraphTask::feed(const Variable& root, Tensor gradient) { pass_->feed(root, std::move(gradient)); }
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

Gradients backward(const Variable& root) { return backward(std::span(&root, 1)); }

Gradients backward(std::span<const Variable> roots, std::span<const Tensor> root_gradients) {
  if (roots.empty()) throw TensorError("[backward] there are no roots");
  if (!root_gradients.empty() && root_gradients.size() != roots.size()) {
    throw TensorError(fmt::format("[backward] {} root gradients for {} roots", root_gradients.size(), roots.size()));
  }
  std::vector<Tensor> gradients;
  for (std::size_t i = 0; i < roots.size(); ++i) {
    const bool given = !root_gradients.empty() && root_gradients[i].defined();
    gradients.push_back(given ? root_gradients[i] : initial_gradient(roots[i]));
  }
  GraphTask task;
  for (const Variable& root : roots) {
    if (!task.mark(root).empty()) {
      throw std::logic_error(
          "[backward] the graph reaches a value received from another node: differentiate it in a DistContext");
    }
  }
  for (std::size_t i = 0; i < roots.size(); ++i) task.feed(roots[i], std::move(gradients[i]));
  NoSink sink;
  task.run(sink);
  return task.take_gradients();
}

}  // namespace troupe

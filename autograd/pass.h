// The bookkeeping of one backward pass over this node's part of a graph: who waits for what, and in which order it
// runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "autograd/anomaly.h"
#include "autograd/boundary.h"
#include "autograd/contributions.h"
#include "autograd/engine.h"
#include "autograd/gradients.h"
#include "autograd/hooks.h"
#include "autograd/rows_fn.h"

namespace troupe::detail {

/// A gradient for the caller of a pass must be its own: not a view that repeats elements, not storage that somebody
/// else can see.
[[nodiscard]] Tensor owned(Tensor gradient);
[[nodiscard]] SparseTensor owned(const SparseTensor& rows);

/// What GraphTask says, by edges instead of variables; and passes that end before the leaves. A vertex is let go of as
/// soon as it has run: if nobody else holds it, what it saved is freed while the pass goes on.
/// One owner at a time: not safe for several threads at once.
class Pass {
 public:
  using Recvs = std::vector<std::shared_ptr<const RecvFn>>;

  explicit Pass(Graph graph) : graph_(graph) {}

  /// The pass ends at these vertices: their gradients are kept for taken(), nothing behind them takes part, and their
  /// hooks are left to whoever continues. Before the first mark().
  void end_at(std::span<const Edge> ends);

  Recvs mark(const Edge& root);
  Recvs mark(const std::shared_ptr<const SendFn>& send);

  /// Only what lies between the roots and `inputs` takes part; the gradients of `inputs` are kept for taken(), after
  /// their hooks, and no leaf keeps one. After the last mark(), before the first feed().
  void restrict_to(std::span<const Edge> inputs);

  /// Whether `root` still expects a gradient; not if restrict_to() found that nothing depends on it.
  [[nodiscard]] bool awaits(const Edge& root) const;

  /// `gradient` may be undefined. Throws TensorError if `root` was not marked (that often).
  void feed(const Edge& root, Tensor gradient);
  void feed(const SendFn& send, std::vector<Tensor> gradients);

  void run(GradientSink& sink);

  [[nodiscard]] bool finished() const noexcept { return ran_count_ == vertices_.size(); }
  [[nodiscard]] std::size_t vertex_count() const noexcept { return vertices_.size(); }
  [[nodiscard]] Gradients take_gradients() { return std::exchange(gradients_, {}); }

  /// The gradient at an edge of end_at() or restrict_to(); undefined if none reached it.
  [[nodiscard]] Tensor taken(const Edge& edge) const;

 private:
  enum class Fed : std::uint8_t { no, yes };

  struct Vertex {
    std::shared_ptr<const GradFn> fn;  ///< null once it has run
    CreationMark mark;                 ///< a copy, for the contributions that are still on their way then
    HookList::Snapshot hooks;
    std::size_t awaited = 0;  ///< edges of marked vertices and feeds that have not delivered yet
    std::vector<Contribution> arrived;
    bool takes = false;        ///< its gradients stay in `taken`
    bool goes_on = true;       ///< they also do what the kind of the vertex says
    std::vector<Edge> needed;  ///< instead of next(), if only some of those take part
    std::vector<Tensor> taken;
  };

  Recvs close_over(const std::shared_ptr<const GradFn>& start);
  [[nodiscard]] bool runs_before(const GradFn& from, const GradFn& to);
  using Rows = std::shared_ptr<const SparseTensor>;
  void arrive(const Edge& edge, const Vertex& from, std::uint32_t index, Tensor gradient, Rows rows);
  static bool older(const Vertex* a, const Vertex* b);
  void count_down(Vertex& vertex);
  [[nodiscard]] Vertex* take_ready();
  void run_gradient_hooks(const Vertex& vertex, std::vector<Tensor>& gradients);
  void keep(const Vertex& vertex, Tensor gradient, const Rows& rows);
  void pass_on(const Vertex& vertex, std::vector<Tensor> gradients);
  [[nodiscard]] RowsFn::Applied apply(const GradFn& fn, std::span<const Edge> needed, std::vector<Tensor> gradients);
  /// What gradients of `fn` are checked for in this pass, if they are.
  [[nodiscard]] std::optional<Anomaly> watched(const GradFn& fn) const;
  void check(const GradFn& fn, Anomaly what, std::span<const Tensor> got, std::span<const Tensor> results);
  [[noreturn]] void fail(std::string_view where, std::string_view what);

  /// Calls `action`; what it throws fails the pass, which happened at `where`.
  template <class Action>
  auto guarded(std::string_view where, Action action);

  Graph graph_;
  std::unordered_map<const GradFn*, Vertex> vertices_;  // references to its values stay valid while it grows
  std::unordered_set<const GradFn*> ends_;
  std::map<std::pair<const GradFn*, std::uint32_t>, std::vector<std::uint32_t>> awaited_roots_;
  std::unordered_map<const SendFn*, Fed> sends_;
  std::vector<Vertex*> ready_;  // a heap: the newest first
  std::vector<Vertex*> ready_recvs_;
  const AnomalyGuard* guard_ = nullptr;  // of the thread that runs
  bool in_order_ = true;                 // contributions arrive in the order of their sums
  const CreationMark* call_ = nullptr;   // of the first vertex that was marked
  std::size_t ran_count_ = 0;
  std::uint32_t root_count_ = 0;
  Gradients gradients_;
  std::optional<std::string> failure_;
};

}  // namespace troupe::detail

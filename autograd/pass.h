// The state of one backward pass over this node's part of a graph: what each vertex awaits, and the order of execution.
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

/// Returns the gradient for the caller of a pass: contiguous and in memory that no other handle shares. Copies if
/// needed.
[[nodiscard]] Tensor owned(Tensor gradient);
[[nodiscard]] SparseTensor owned(const SparseTensor& rows);

/// The implementation of GraphTask, by edges instead of variables. A pass may also end before the leaves. The pass
/// drops its handle of a vertex as soon as the vertex has run: if no other handle exists, its saved tensors are freed
/// during the pass. Not thread-safe: one owner at a time.
class Pass {
 public:
  using Recvs = std::vector<std::shared_ptr<const RecvFn>>;

  explicit Pass(Graph graph) : graph_(graph) {}

  /// Ends the pass at these vertices. Their gradients are kept for taken(), no vertex behind them takes part, and their
  /// hooks do not run: the caller who continues the pass runs them. REQUIRES: called before the first mark().
  void end_at(std::span<const Edge> ends);

  Recvs mark(const Edge& root, GraphTask::Hooks hooks = GraphTask::Hooks::as_registered);
  Recvs mark(const std::shared_ptr<const SendFn>& send, GraphTask::Hooks hooks = GraphTask::Hooks::as_registered);

  /// Restricts the pass to the vertices between the roots and `inputs`. The gradients of `inputs`, after their hooks,
  /// are kept for taken(); leaf gradients are not kept. REQUIRES: called after the last mark() and before the first
  /// feed().
  void restrict_to(std::span<const Edge> inputs);

  /// A variable and where its gradient arrives.
  struct Input {
    Variable variable;
    Edge edge;
  };

  /// Restricts the pass to the vertices from which one of `inputs` or a RecvFn is reached. Only `inputs`, leaves or
  /// not, keep a gradient. A SendFn from which none is reached still awaits its feed, which is dropped. REQUIRES:
  /// called after the last mark() and before the first feed().
  void keep_only(std::span<const Input> inputs);

  /// Keeps a handle of each operation that runs, for release_operations(). REQUIRES: called before run().
  void remember_operations() { remembers_ = true; }

  /// Releases the operations that have run (GradFn::release), and the handles.
  void release_operations() noexcept;

  /// Returns whether `root` awaits a gradient. False if the pass was restricted and `root` takes no part.
  [[nodiscard]] bool awaits(const Edge& root) const;

  /// `gradient` may be undefined. Throws TensorError if `root` awaits no further feed.
  void feed(const Edge& root, Tensor gradient);
  void feed(const SendFn& send, std::vector<Tensor> gradients);

  void run(GradientSink& sink);

  [[nodiscard]] bool finished() const noexcept { return ran_count_ == vertices_.size(); }
  [[nodiscard]] std::size_t vertex_count() const noexcept { return vertices_.size(); }
  [[nodiscard]] Gradients take_gradients() { return std::exchange(gradients_, {}); }

  /// Returns the gradient at an edge of end_at() or restrict_to(); undefined if none reached it.
  [[nodiscard]] Tensor taken(const Edge& edge) const;

 private:
  enum class Fed : std::uint8_t { no, yes };

  struct Vertex {
    std::shared_ptr<const GradFn> fn;  ///< null once it has run
    CreationMark mark;                 ///< a copy for contributions that are still pending after `fn` is dropped
    HookList::Snapshot hooks;
    std::size_t awaited = 0;  ///< number of edges of marked vertices, and of feeds, that have not delivered yet
    std::vector<Contribution> arrived;
    std::vector<std::size_t> places;  ///< of the slots' sums in `arrived`, for add_in_order()
    bool takes = false;               ///< the gradients are kept in `taken`
    bool goes_on = true;              ///< the gradients are processed according to the vertex's kind
    std::vector<Edge> needed;         ///< replaces next() if only some of its edges take part; else empty
    std::vector<Tensor> taken;
    std::vector<std::pair<std::uint32_t, Variable>> inputs;  ///< inputs that are no leaves, by slot
  };

  /// Leaves in the pass: `ends`, the vertices from which one of them is reached, and all SendFns. Those between the
  /// ends and the starts go on.
  void prune(std::vector<const GradFn*> ends);
  Recvs close_over(const std::shared_ptr<const GradFn>& start, GraphTask::Hooks hooks);
  [[nodiscard]] bool runs_before(const GradFn& from, const GradFn& to);
  using Rows = std::shared_ptr<const SparseTensor>;
  void arrive(const Edge& edge, const Vertex& from, std::uint32_t index, Tensor gradient, Rows rows);
  static bool older(const Vertex* a, const Vertex* b);
  void count_down(Vertex& vertex);
  [[nodiscard]] Vertex* take_ready();
  void run_gradient_hooks(const Vertex& vertex, std::vector<Tensor>& gradients);
  void keep(const Vertex& vertex, Tensor gradient, const Rows& rows, GradientSink& sink);
  void pass_on(const Vertex& vertex, std::vector<Tensor> gradients);
  [[nodiscard]] RowsFn::Applied apply(const GradFn& fn, std::span<const Edge> needed, std::vector<Tensor> gradients);
  /// Returns the check for gradients of `fn` in this pass, if there is one.
  [[nodiscard]] std::optional<Anomaly> watched(const GradFn& fn) const;
  void check(const GradFn& fn, Anomaly what, std::span<const Tensor> got, std::span<const Tensor> results);
  [[noreturn]] void fail(std::string_view where, std::string_view what);
  [[noreturn]] void throw_failure() const;

  /// Calls `action`. An exception fails the pass with a text that names `where`.
  template <class Action>
  auto guarded(std::string_view where, Action action);

  Graph graph_;
  std::unordered_map<const GradFn*, Vertex> vertices_;  // references to its values stay valid while it grows
  std::unordered_set<const GradFn*> ends_;
  std::map<std::pair<const GradFn*, std::uint32_t>, std::vector<std::uint32_t>> awaited_roots_;
  std::unordered_map<const SendFn*, Fed> sends_;
  std::vector<Vertex*> ready_;  // a heap: the newest vertex first
  std::vector<Vertex*> ready_recvs_;
  const AnomalyGuard* guard_ = nullptr;  // of the thread that called run()
  bool in_order_ = true;                 // contributions arrive in the order in which they are summed
  const CreationMark* call_ = nullptr;   // of the first marked vertex
  std::size_t ran_count_ = 0;
  std::uint32_t root_count_ = 0;
  Gradients gradients_;
  bool remembers_ = false;
  std::vector<std::shared_ptr<const GradFn>> operations_;  // that have run, if it remembers them
  std::optional<std::string> failure_;
  bool is_device_full_ = false;  // it is a DeviceMemoryError
};

}  // namespace troupe::detail

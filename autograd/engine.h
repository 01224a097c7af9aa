// Runs backward passes over this node's part of the graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "autograd/boundary.h"
#include "autograd/gradients.h"
#include "autograd/variable.h"

namespace troupe {

namespace detail {
class Pass;
}  // namespace detail

/// What a pass does with the graph that it traverses.
enum class Graph : std::uint8_t {
  keep,     ///< the graph stays usable for further passes
  release,  ///< each operation releases its saved tensors as soon as its backward has run
};

/// Options of a backward pass.
struct BackwardOptions {
  /// `release` frees the memory of a training step during the pass, also if results of the graph are still held. A
  /// later pass that reaches the graph throws TensorError `[backward] mul: an earlier backward pass released its
  /// graph`.
  /// REQUIRES: no other pass over the graph runs at the same time; such a pass may fail with the same text in a
  /// BackwardError.
  Graph graph = Graph::keep;
  /// backward() only; empty: all leaves. Otherwise only these variables keep a gradient, leaves or not, and only
  /// operations between the roots and them run. An input that no root depends on has none. Hooks of the inputs run,
  /// those of other leaves do not. An input may be a root, or depend on another input.
  /// Throws TensorError `[backward] input 1 requires no gradient`; ValueError from grad(), which takes its own.
  std::vector<Variable> inputs{};
};

/// Returns the gradients of the leaves that `root` depends on. Writes nothing into variables. The graph stays usable
/// unless the options release it. If `root` is an rvalue, the pass releases it: tensors that no other handle shares are
/// freed during the pass.
/// Throws TensorError if `root` does not have exactly one element or requires no gradient, std::logic_error if the
/// graph reaches a value received from another node (differentiate it in a DistContext), and BackwardError.
[[nodiscard]] Gradients backward(const Variable& root, const BackwardOptions& options = {});
[[nodiscard]] Gradients backward(Variable&& root, const BackwardOptions& options = {});

/// Returns the same for the sum over `roots`. `root_gradients` is empty or has one entry per root. An undefined entry
/// stands for 1 and needs a root of one element. A variable may occur several times in `roots`.
/// Throws as above, and TensorError if a gradient does not have the shape and dtype of its root or is not on its
/// device.
[[nodiscard]] Gradients backward(std::span<const Variable> roots, std::span<const Tensor> root_gradients = {},
                                 const BackwardOptions& options = {});

/// Returns the gradients of the sum over `outputs` by each of `inputs`, leaves or not. Only operations between outputs
/// and inputs run, and no gradients are kept for other leaves. Result: one tensor per input, contiguous and in memory
/// of its own, or undefined if no output depends on that input. An input may also be an output, or depend on another
/// input. Gradient hooks run, also those of inputs. Hooks that wait for a leaf's final gradient do not run.
/// `output_gradients` as `root_gradients` above. Values received from another node may be inputs or lie in the graph.
/// Throws as backward(), and TensorError `[grad] input 1 requires no gradient`.
[[nodiscard]] std::vector<Tensor> grad(std::span<const Variable> outputs, std::span<const Variable> inputs,
                                       std::span<const Tensor> output_gradients = {},
                                       const BackwardOptions& options = {});
[[nodiscard]] Tensor grad(const Variable& output, const Variable& input, const BackwardOptions& options = {});

/// Returns the gradient of `root` when none is given: 1, in the root's shape and dtype.
/// Throws TensorError if `root` does not have exactly one element or requires no gradient.
[[nodiscard]] Tensor initial_gradient(const Variable& root);

/// Returns a variable of one element; a pass from it gives `root` exactly `gradient`, which has its shape and dtype and
/// is on its device. Throws TensorError as backward() for a root or gradient that does not fit.
[[nodiscard]] Variable seeded_root(const Variable& root, const Tensor& gradient);

/// One backward pass over this node's part of a graph, in steps: mark the roots, then feed and run until finished. Each
/// mark() expects exactly one feed(). A vertex runs when all contributions from vertices of the pass have arrived.
/// Contributions are summed in an order that depends on creation marks only: first the gradients fed to roots, in the
/// order of their mark(); then within each call from the newest vertex to the oldest; then across calls in descending
/// order of path. Not thread-safe: one owner at a time.
class GraphTask {
 public:
  /// Which hooks the pass calls at the vertices that a mark() adds.
  enum class Hooks : std::uint8_t {
    as_registered,
    of_operations,  ///< all but those of leaves: for a caller whose own pass runs these on sums of gradients
    none,           ///< also none that is registered meanwhile: for a caller that has seen that there are none
  };

  GraphTask();
  explicit GraphTask(Graph graph);
  ~GraphTask();
  GraphTask(GraphTask&&) noexcept;
  GraphTask& operator=(GraphTask&&) noexcept;

  /// Adds `root` and all vertices that it depends on to the pass. Returns the RecvFns that were not reached before. A
  /// variable marked twice is fed twice. Throws TensorError if `root` requires no gradient or a reached vertex was
  /// released, std::logic_error once a vertex has run.
  std::vector<std::shared_ptr<const RecvFn>> mark(const Variable& root, Hooks hooks = Hooks::as_registered);

  /// As above, from `send` on. Marking a SendFn again changes nothing.
  std::vector<std::shared_ptr<const RecvFn>> mark(const std::shared_ptr<const SendFn>& send,
                                                  Hooks hooks = Hooks::as_registered);

  /// Restricts the pass to the vertices from which one of `inputs` or a RecvFn is reached; only `inputs`, leaves or
  /// not, keep a gradient. A root from which none is reached awaits no feed; a SendFn awaits its feed, which is
  /// dropped. Throws TensorError `[backward] input 1 requires no gradient`. REQUIRES: called after the last mark() and
  /// before the first feed().
  void keep_only(std::span<const Variable> inputs);

  /// Keeps the operations that run, for release_operations(). REQUIRES: called before run().
  void remember_operations();

  /// Releases the saved tensors of all operations that have run; later passes over them are refused, as those over a
  /// graph that a pass with Graph::release has released. REQUIRES: remember_operations() was called.
  void release_operations() noexcept;

  /// Returns whether `root` awaits a feed.
  [[nodiscard]] bool awaits(const Variable& root) const;

  /// Gives a marked root its gradient. Throws TensorError if the gradient does not fit, or if `root` awaits no further
  /// feed.
  void feed(const Variable& root, Tensor gradient);

  /// Gives a marked SendFn the gradients that its peer delivered. Throws TensorError if they do not fit, or if `send`
  /// was not marked or was fed before.
  void feed(const SendFn& send, std::vector<Tensor> gradients);

  /// Runs all ready vertices until none is ready, RecvFns first. May be called again after further feeds.
  /// Throws BackwardError if an operation's backward or a hook throws, DeviceMemoryError if that is one. The pass has
  /// then failed, and every later run() throws the same error.
  void run(GradientSink& sink);

  /// Returns whether every marked vertex has run.
  [[nodiscard]] bool finished() const noexcept;

  [[nodiscard]] std::size_t vertex_count() const noexcept;

  /// Returns the leaf gradients found so far and removes them from the task.
  [[nodiscard]] Gradients take_gradients();

 private:
  std::unique_ptr<detail::Pass> pass_;
};

/// The backward of an operation threw: `[backward] matmul: out of memory`; or a hook on its result did:
/// `[backward] hook on matmul: out of memory`. Where that was a DeviceMemoryError, the pass throws one with this text.
class BackwardError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace troupe

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

/// What becomes of the graph that a pass goes through.
enum class Graph : std::uint8_t {
  keep,     ///< it can be differentiated again
  release,  ///< each operation lets go of what it saved as soon as its backward has run
};

/// What a backward pass leaves behind.
struct BackwardOptions {
  /// `release` frees the memory of a training step while the pass goes on, whoever still holds results of the graph;
  /// a later pass that reaches it throws TensorError `[backward] mul: an earlier backward pass released its graph`.
  /// No other pass over it should be under way: that one may fail with the same words in a BackwardError.
  Graph graph = Graph::keep;
  /// Gradients of gradients do not exist here: true throws ValueError `[backward] create_graph: gradients of gradients
  /// are not supported`.
  bool create_graph = false;
};

/// Gradients of the leaves that `root` depends on. Nothing is written into variables, and the graph stays usable
/// unless the options say otherwise. Of a root that is moved in the pass lets go: what nobody else holds is freed while
/// it goes on.
/// Throws TensorError if `root` does not have exactly one element or requires no gradient,
/// std::logic_error if the graph reaches a value received from another node (a DistContext differentiates those), and
/// BackwardError.
[[nodiscard]] Gradients backward(const Variable& root, const BackwardOptions& options = {});
[[nodiscard]] Gradients backward(Variable&& root, const BackwardOptions& options = {});

/// The same for the sum over `roots`. `root_gradients` is empty, or one per root; an undefined one stands for 1 and
/// needs a root of one element. One variable may be several roots.
[[nodiscard]] Gradients backward(std::span<const Variable> roots, std::span<const Tensor> root_gradients = {},
                                 const BackwardOptions& options = {});

/// The gradients of the sum over `outputs` by each of `inputs`, leaves or not, and nothing else: operations that lead
/// to no input do not run, no leaf keeps a gradient. One tensor per input, contiguous and in memory of its own;
/// undefined if no output depends on it. An input may be an output too, or lie behind another one. Hooks of inputs have
/// their say, those that wait for a leaf's final gradient are not called. `output_gradients` as for backward().
/// A value received from another node may be an input, or take no part.
/// Throws as backward(), and TensorError `[grad] input 1 requires no gradient`.
[[nodiscard]] std::vector<Tensor> grad(std::span<const Variable> outputs, std::span<const Variable> inputs,
                                       std::span<const Tensor> output_gradients = {},
                                       const BackwardOptions& options = {});
[[nodiscard]] Tensor grad(const Variable& output, const Variable& input, const BackwardOptions& options = {});

/// The gradient that `root` starts with when none is given: 1, in its shape and dtype.
/// Throws TensorError if `root` does not have exactly one element or requires no gradient.
[[nodiscard]] Tensor initial_gradient(const Variable& root);

/// One backward pass over this node's part of a graph, in steps: mark what takes part, then feed and run until
/// finished. Each mark() expects exactly one feed(). A vertex runs when everything that takes part and contributes to
/// it has arrived; contributions are held and then summed in an order that only creation marks decide: inside each call
/// from the newest vertex to the oldest, then across calls in descending order of path; gradients fed to roots come
/// first, in the order of their mark(). One owner at a time: not safe for several threads at once.
class GraphTask {
 public:
  GraphTask();
  explicit GraphTask(Graph graph);
  ~GraphTask();
  GraphTask(GraphTask&&) noexcept;
  GraphTask& operator=(GraphTask&&) noexcept;

  /// Adds what `root` depends on to the pass; returns the RecvFns that were not reached before. A variable marked twice
  /// is fed twice. Throws TensorError if `root` requires no gradient or what it reaches was released, std::logic_error
  /// once anything ran.
  std::vector<std::shared_ptr<const RecvFn>> mark(const Variable& root);

  /// The same from `send` on. Marking it again changes nothing.
  std::vector<std::shared_ptr<const RecvFn>> mark(const std::shared_ptr<const SendFn>& send);

  /// Gives a marked root its gradient. Throws TensorError if it does not fit or was not marked (that often).
  void feed(const Variable& root, Tensor gradient);

  /// Gives a marked SendFn what its peer delivered. Throws TensorError if that does not fit, if it was not
  /// marked or was fed before.
  void feed(const SendFn& send, std::vector<Tensor> gradients);

  /// Runs all that is ready, until nothing is. May be called again after more was fed. RecvFns go first.
  /// Throws BackwardError if an operation's backward or a hook throws; the pass has then failed and every later run()
  /// throws the same.
  void run(GradientSink& sink);

  /// All that was marked has run.
  [[nodiscard]] bool finished() const noexcept;

  [[nodiscard]] std::size_t vertex_count() const noexcept;

  /// The leaf gradients found so far; they leave the task.
  [[nodiscard]] Gradients take_gradients();

 private:
  std::unique_ptr<detail::Pass> pass_;
};

/// An operation's backward threw: "[backward] matmul: out of memory"; or a hook on its result did: "[backward] hook on
/// matmul: out of memory".
class BackwardError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace troupe

// A vertex of the autograd graph. Immutable after construction: any number of backward passes may run over it at once,
// until a pass releases it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/call_path.h"
#include "tensor/tensor.h"

namespace troupe {

class GradFn;
class RowsFn;

namespace detail {
struct VertexNotes;
}  // namespace detail

/// The destination of a gradient: one input slot of a vertex. An empty edge means that the gradient is not needed.
struct Edge {
  std::shared_ptr<const GradFn> fn;
  std::uint32_t slot = 0;
  std::uint32_t elements = 0;  ///< of the input's value, also behind an empty edge; at most kElementsMax
  static constexpr std::uint32_t kElementsMax = UINT32_MAX;

  explicit operator bool() const noexcept { return fn != nullptr; }
};

/// The RecvFns on which a vertex depends, itself included: those that a backward pass from it reaches. Vertices share
/// it.
struct ReceivedSet {
  static constexpr std::size_t kMax = 64;
  std::vector<const GradFn*> recvs;  ///< of kind recv, each once, sorted; they live as long as the vertex
  bool too_many = false;             ///< there are more than kMax: `recvs` is empty
};

/// Whether the time of a vertex's backward is bounded by the sizes of the values at its edges.
enum class Work : std::uint8_t {
  any,        ///< it may run user code, or wait
  of_inputs,  ///< about a step per product of two of their elements, at most
};

/// What a backward pass does with a vertex.
enum class VertexKind : std::uint8_t {
  operation,  ///< calls apply()
  leaf,       ///< keeps the gradient for a leaf variable
  send,       ///< passes on the gradients that the peer's RecvFn delivered
  recv,       ///< gives its gradients to the GradientSink
};

/// The backward function of one operation: maps one gradient per output of the operation to one gradient per input. An
/// undefined Tensor means "no gradient" everywhere. Zeros replace it only where the formula needs them.
/// Destroying the last handle of a graph uses constant stack space, whatever the graph's depth.
class GradFn {
 public:
  GradFn(const GradFn&) = delete;
  GradFn& operator=(const GradFn&) = delete;
  virtual ~GradFn();

  /// Returns the operation's name, for messages: "matmul".
  [[nodiscard]] std::string_view name() const noexcept { return name_; }
  [[nodiscard]] VertexKind kind() const noexcept { return kind_; }

  /// Returns when the vertex was made. The mark orders the vertex's contributions.
  [[nodiscard]] const CreationMark& mark() const noexcept { return mark_; }

  /// One edge per input of the operation, empty where the input needs no gradient.
  [[nodiscard]] std::span<const Edge> next() const noexcept { return {next_.data(), next_.size()}; }

  /// Returns the RecvFns on which the vertex depends; null: none.
  [[nodiscard]] const std::shared_ptr<const ReceivedSet>& received() const noexcept { return received_; }

  /// Returns a bound for a pass from this vertex on this node: the number of its vertices and of the elements at their
  /// edges, a vertex counted once per way to it. kAnyWork: unknown.
  [[nodiscard]] std::uint32_t work() const noexcept { return work_; }
  static constexpr std::uint32_t kAnyWork = UINT32_MAX;

  /// Returns the number of outputs of the operation, which is the number of gradients that apply() takes.
  [[nodiscard]] std::uint32_t slot_count() const noexcept { return slot_count_; }

  /// Returns one gradient per edge of next(), undefined where there is none. REQUIRES: `gradients` has slot_count()
  /// entries, at least one of them defined. Must not write to `gradients`: other handles may share them.
  [[nodiscard]] virtual std::vector<Tensor> apply(std::vector<Tensor> gradients) const = 0;

  /// As apply() for a pass that needs only some of the results: `needed` is next() with the other edges empty. Results
  /// for empty edges may be undefined. Calls apply() unless overridden.
  [[nodiscard]] virtual std::vector<Tensor> apply_to(std::vector<Tensor> gradients, std::span<const Edge> needed) const;

  /// Returns this vertex if its gradient by its first input may be a few rows (rows_fn.h), else null.
  [[nodiscard]] virtual const RowsFn* as_rows() const noexcept { return nullptr; }

  /// Excludes the vertex from all further passes. Its saved tensors are released as soon as no apply() runs.
  /// Thread-safe, idempotent.
  void release() const noexcept;
  [[nodiscard]] bool released() const noexcept { return (use_.load(std::memory_order_acquire) & kReleased) != 0; }

  /// Keeps the saved tensors alive during its own life. The constructor throws std::logic_error if the vertex was
  /// released.
  class Use {
   public:
    explicit Use(const GradFn& fn);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    const GradFn& fn_;
  };

  /// Returns the hooks and checks added after the vertex was made; null if there are none.
  [[nodiscard]] const detail::VertexNotes* notes_if_any() const noexcept {
    return notes_.load(std::memory_order_acquire);
  }
  /// Returns the same, and creates an empty one if there is none.
  [[nodiscard]] detail::VertexNotes& notes() const;

  /// Releases one handle without recursion, as the destructor of a vertex does.
  static void let_go(Edge edge) noexcept;

 protected:
  /// Takes a creation mark of the calling thread.
  GradFn(std::string_view name, VertexKind kind, std::vector<Edge> next, std::uint32_t slot_count = 1,
         Work work = Work::any);

  /// Releases the saved tensors. Called at most once, while no apply() runs; no apply() follows.
  virtual void drop_saved() const noexcept {}

 private:
  static constexpr std::uint32_t kReleased = std::uint32_t{1} << 31U;

  std::string name_;
  VertexKind kind_;
  std::uint32_t slot_count_;
  std::uint32_t work_;
  mutable std::atomic<std::uint32_t> use_{0};                 ///< number of running apply() calls, with bit kReleased
  mutable std::atomic<detail::VertexNotes*> notes_{nullptr};  ///< owned; set once
  CreationMark mark_;
  std::vector<Edge> next_;
  std::shared_ptr<const ReceivedSet> received_;
};

}  // namespace troupe

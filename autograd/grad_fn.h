// A vertex of the autograd graph. Immutable once made: any number of backward passes may run over it at once, until one
// of them releases it.
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

/// Where a gradient goes next: one input slot of a vertex. An empty edge means that nobody needs the gradient.
struct Edge {
  std::shared_ptr<const GradFn> fn;
  std::uint32_t slot = 0;

  explicit operator bool() const noexcept { return fn != nullptr; }
};

/// What a backward pass does with a vertex.
enum class VertexKind : std::uint8_t {
  operation,  ///< calls apply()
  leaf,       ///< keeps the gradient for a leaf variable
  send,       ///< passes on what the peer's RecvFn delivered
  recv,       ///< hands its gradients to the GradientSink
};

/// Backward of one operation: takes a gradient per output of the operation, gives one per input. An undefined Tensor
/// says "no gradient" everywhere; it is never replaced by zeros unless the mathematics needs them.
/// Releasing the last handle of a graph of any depth takes no more stack than releasing one vertex.
class GradFn {
 public:
  GradFn(const GradFn&) = delete;
  GradFn& operator=(const GradFn&) = delete;
  virtual ~GradFn();

  /// The operation's name, for messages: "matmul".
  [[nodiscard]] std::string_view name() const noexcept { return name_; }
  [[nodiscard]] VertexKind kind() const noexcept { return kind_; }

  /// When the vertex was made; what it contributes is ordered by this mark.
  [[nodiscard]] const CreationMark& mark() const noexcept { return mark_; }

  /// One edge per input of the operation, empty where the input needs no gradient.
  [[nodiscard]] std::span<const Edge> next() const noexcept { return next_; }

  /// How many outputs the operation has, which is how many gradients apply() takes.
  [[nodiscard]] std::uint32_t slot_count() const noexcept { return slot_count_; }

  /// Returns one gradient per edge of next(), undefined where there is none. `gradients` has slot_count() entries of
  /// which at least one is defined. Must not write into `gradients`: others may see them.
  [[nodiscard]] virtual std::vector<Tensor> apply(std::vector<Tensor> gradients) const = 0;

  /// The same for a pass that needs only some of the results: `needed` is next() with the other edges left empty. What
  /// is not needed may be undefined. Calls apply() unless overridden.
  [[nodiscard]] virtual std::vector<Tensor> apply_to(std::vector<Tensor> gradients, std::span<const Edge> needed) const;

  /// This vertex, if its gradient by its first input may be a few rows (rows_fn.h); else null.
  [[nodiscard]] virtual const RowsFn* as_rows() const noexcept { return nullptr; }

  /// The vertex takes part in no pass any more: what apply() needs is let go of, as soon as nobody is inside it.
  /// Any thread, any number of times.
  void release() const noexcept;
  [[nodiscard]] bool released() const noexcept { return (use_.load(std::memory_order_acquire) & kReleased) != 0; }

  /// Keeps what apply() needs while it lives. Throws std::logic_error if the vertex was released.
  class Use {
   public:
    explicit Use(const GradFn& fn);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    const GradFn& fn_;
  };

  /// What was said about the vertex after it was made; null if nothing was.
  [[nodiscard]] const detail::VertexNotes* notes_if_any() const noexcept {
    return notes_.load(std::memory_order_acquire);
  }
  /// The same, made if there is none.
  [[nodiscard]] detail::VertexNotes& notes() const;

  /// Lets go of one handle as the destructors of vertices do: without recursion.
  static void let_go(Edge edge) noexcept;

 protected:
  /// Takes the creation mark of the calling thread.
  GradFn(std::string_view name, VertexKind kind, std::vector<Edge> next, std::uint32_t slot_count = 1);

  /// Lets go of what apply() needs. Called at most once, while no apply() runs and before none.
  virtual void drop_saved() const noexcept {}

 private:
  static constexpr std::uint32_t kReleased = std::uint32_t{1} << 31U;

  std::string name_;
  VertexKind kind_;
  std::uint32_t slot_count_;
  mutable std::atomic<std::uint32_t> use_{0};                 ///< how many are inside apply(); and kReleased
  mutable std::atomic<detail::VertexNotes*> notes_{nullptr};  ///< owned; set once
  CreationMark mark_;
  std::vector<Edge> next_;
};

}  // namespace troupe

// User functions that a backward pass calls with gradients.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "autograd/grad_fn.h"
#include "tensor/tensor.h"

namespace troupe {

class Variable;

/// Removes one hook. Copies refer to the same hook. Without remove() the hook lives as long as its variable's graph.
class HookHandle {
 public:
  HookHandle() = default;

  /// Passes that mark the variable after this call do not call the hook. Thread-safe, idempotent.
  void remove() const;

 private:
  friend class Variable;
  HookHandle(std::weak_ptr<const GradFn> fn, std::uint64_t id) : fn_(std::move(fn)), id_(id) {}

  std::weak_ptr<const GradFn> fn_;
  std::uint64_t id_ = 0;
};

namespace detail {

/// Takes the gradient of a variable in one pass. Returns a replacement, or an undefined tensor for no change.
using GradientHook = std::function<Tensor(const Tensor& gradient)>;
/// Takes a leaf and its gradient, as the pass returns it.
using LeafHook = std::function<void(const Variable& leaf, const Tensor& gradient)>;

struct Hook {
  std::uint64_t id = 0;
  std::uint32_t slot = 0;
  GradientHook on_gradient = {};  ///< empty if `on_leaf` is set
  LeafHook on_leaf = {};
};

/// The hooks of one vertex. Thread-safe. A pass takes a snapshot when it marks the vertex and uses only that.
class HookList {
 public:
  using Snapshot = std::shared_ptr<const std::vector<Hook>>;

  /// Returns the id that remove() takes.
  [[nodiscard]] std::uint64_t add(Hook hook);
  void remove(std::uint64_t id);

  /// Returns the hooks in the order of their registration; null if there are none.
  [[nodiscard]] Snapshot snapshot() const;

 private:
  mutable std::mutex mutex_;
  Snapshot hooks_;
  std::uint64_t next_id_ = 1;
};

/// Returns whether a pass from `start` would call a hook. Visits a vertex once per way to it, recursively. REQUIRES:
/// start.work() is small.
[[nodiscard]] bool depends_on_hooks(const GradFn& start);

}  // namespace detail
}  // namespace troupe

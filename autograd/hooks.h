// Functions of the user that a backward pass calls with gradients.
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

/// Takes one hook away again. Copies are the same hook; without remove() it stays as long as its variable's graph.
class HookHandle {
 public:
  HookHandle() = default;

  /// Passes that mark the variable from now on do not call the hook. Any thread, any number of times.
  void remove() const;

 private:
  friend class Variable;
  HookHandle(std::weak_ptr<const GradFn> fn, std::uint64_t id) : fn_(std::move(fn)), id_(id) {}

  std::weak_ptr<const GradFn> fn_;
  std::uint64_t id_ = 0;
};

namespace detail {

/// Gets the gradient of a variable in one pass. Returns another one, or an undefined tensor: no change.
using GradientHook = std::function<Tensor(const Tensor& gradient)>;
/// Gets a leaf and its gradient as the pass returns it.
using LeafHook = std::function<void(const Variable& leaf, const Tensor& gradient)>;

struct Hook {
  std::uint64_t id = 0;
  std::uint32_t slot = 0;
  GradientHook on_gradient = {};  ///< empty if the hook is of the other kind
  LeafHook on_leaf = {};
};

/// The hooks of one vertex. Any thread; a pass takes a snapshot when it marks the vertex and keeps to it.
class HookList {
 public:
  using Snapshot = std::shared_ptr<const std::vector<Hook>>;

  /// Returns the id that remove() takes.
  [[nodiscard]] std::uint64_t add(Hook hook);
  void remove(std::uint64_t id);

  /// The hooks in the order of their registration; null if there are none.
  [[nodiscard]] Snapshot snapshot() const;

 private:
  mutable std::mutex mutex_;
  Snapshot hooks_;
  std::uint64_t next_id_ = 1;
};

}  // namespace detail
}  // namespace troupe

// The gradients that one member gives to one round of data-parallel training, as its backward pass finds them.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "actors/core/wait_point.h"
#include "messages/error.h"
#include "tensor/sparse.h"
#include "tensor/tensor.h"

namespace troupe::detail {

/// The gradient of one parameter: dense or as rows. Both are undefined without a gradient.
struct LeafGradient {
  Tensor dense;
  SparseTensor rows;

  [[nodiscard]] bool defined() const { return dense.defined() || rows.defined(); }
  /// Adds `other`: as rows if both are, else dense.
  void add(const LeafGradient& other);
};

/// Thread rule: any thread may call any member. Waits end when the gradients end; their pass ends them.
class MemberGradients {
 public:
  /// `held`: what earlier passes left for this round, one entry per parameter.
  explicit MemberGradients(std::vector<LeafGradient> held);

  /// The pass has found the gradient of parameter `number`. Ignored after the end.
  void add(std::size_t number, const LeafGradient& gradient);

  /// No further gradient comes.
  void end();
  /// The pass failed: it finds no further gradient, and those that it found are not used. May be called after the end,
  /// too. Returns false, without effect, if the round has already told the other members that the pass succeeded.
  [[nodiscard]] bool fail(Error why);

  /// The round tells the other members how the pass ended. Returns whether it failed. REQUIRES: the pass has ended.
  [[nodiscard]] bool tell_failure();

  /// Waits until the gradient of parameter `number` is final.
  void wait_for(std::size_t number);
  void wait_for_end();

  /// Returns the gradient of parameter `number`, as known now.
  [[nodiscard]] LeafGradient of(std::size_t number) const;
  /// Returns the parameters whose gradients the pass has found, in the order of arrival.
  [[nodiscard]] std::vector<std::size_t> order() const;
  [[nodiscard]] bool has_ended() const;
  /// Returns why the pass failed: empty if it has not.
  [[nodiscard]] std::string failure_text() const;
  /// Returns all gradients: to hold them for a later round.
  [[nodiscard]] std::vector<LeafGradient> all() const;

 private:
  mutable std::mutex mutex_;
  std::vector<LeafGradient> gradients_;  // guarded by mutex_
  std::vector<std::size_t> order_;       // guarded by mutex_
  std::optional<Error> failure_;         // guarded by mutex_
  bool ended_ = false;                   // guarded by mutex_
  bool told_ = false;                    // guarded by mutex_: failure_ is final
  std::deque<WaitPoint> final_;          // one per parameter: its gradient is final
  WaitPoint end_;
};

}  // namespace troupe::detail

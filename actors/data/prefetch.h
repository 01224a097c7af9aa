// Values that are made on the pool before they are asked for.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "actors/scope.h"
#include "tensor/tensor.h"

namespace troupe::detail {

/// Calls a function for one list of indices after the other, never twice at once. One thread at a time may use it. The
/// values that were not taken, their exceptions and the function end on the thread that uses it.
class Prefetch {
 public:
  using Make = std::function<std::shared_ptr<void>(const Tensor& indices)>;

  Prefetch(const Scope& scope, Make make);
  /// Waits for a call that runs; those that have not begun are dropped.
  ~Prefetch();
  Prefetch(const Prefetch&) = delete;
  Prefetch& operator=(const Prefetch&) = delete;

  /// Changes nothing if it throws.
  void ask(Tensor indices);
  [[nodiscard]] std::size_t asked() const;

  /// Waits for the oldest value that was asked for; next() does not wait then. REQUIRES: asked() > 0.
  void wait() const;
  /// Waits for the oldest value that was asked for. Throws the exception of `make`; RemoteError if the pool has
  /// stopped. REQUIRES: asked() > 0.
  [[nodiscard]] std::shared_ptr<void> next();

  /// Forgets all that was asked for, and waits for a call that runs.
  void drop() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace troupe::detail

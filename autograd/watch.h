// The checks of an AnomalyGuard at each operation.
#pragma once

#include <optional>
#include <string>

#include "autograd/anomaly.h"
#include "autograd/grad_fn.h"
#include "tensor/tensor.h"

namespace troupe::detail {

/// The check of a vertex that was made under an AnomalyGuard.
struct Watched {
  Anomaly what;
  std::string label;  ///< "encoder/norm", or empty
};

/// Returns the innermost AnomalyGuard of this thread; null if there is none.
[[nodiscard]] const AnomalyGuard* anomaly_guard_here() noexcept;

/// Returns the innermost LabelGuard of this thread; null if there is none.
[[nodiscard]] const LabelGuard* label_guard_here() noexcept;

/// Sets another guard, or null, as the innermost one of this thread. Returns the one before: for FrameGuards.
const AnomalyGuard* exchange_anomaly_guard_here(const AnomalyGuard* guard) noexcept;
const LabelGuard* exchange_label_guard_here(const LabelGuard* guard) noexcept;

/// Hides the guards of this thread, for work that is not that of its program.
class WithoutAnomalyGuard {
 public:
  WithoutAnomalyGuard() noexcept;
  ~WithoutAnomalyGuard();
  WithoutAnomalyGuard(const WithoutAnomalyGuard&) = delete;
  WithoutAnomalyGuard& operator=(const WithoutAnomalyGuard&) = delete;

 private:
  const AnomalyGuard* hidden_;
};

/// Returns "f32 (2, 3) has nan at element 4" if `value` has an element that `what` rejects. Any device. Tensors of
/// integers have none.
[[nodiscard]] std::optional<std::string> complaint_about(const Tensor& value, Anomaly what);

/// Returns "; made as operation 17 of call 0.2 in encoder/norm".
[[nodiscard]] std::string made_as(const GradFn& fn);

/// Checks `value`, a result of the vertex `edge.fn` that is being made under `guard`, and marks the vertex as watched.
/// Throws AnomalyError if `guard` rejects the value.
void watch(const AnomalyGuard& guard, const Edge& edge, const Tensor& value);

}  // namespace troupe::detail

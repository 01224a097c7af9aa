// What an AnomalyGuard has done at each operation.
#pragma once

#include <optional>
#include <string>

#include "autograd/anomaly.h"
#include "autograd/grad_fn.h"
#include "tensor/tensor.h"

namespace troupe::detail {

/// Of a vertex that was made under an AnomalyGuard.
struct Watched {
  Anomaly what;
  std::string label;  ///< "encoder/norm", or empty
};

/// The guard of this thread; null if there is none.
[[nodiscard]] const AnomalyGuard* anomaly_guard_here() noexcept;

/// "f32 (2, 3) has nan at element 4", if `value` has what `what` forbids; on the CPU or not, integers never have.
[[nodiscard]] std::optional<std::string> complaint_about(const Tensor& value, Anomaly what);

/// "; made as operation 17 of call 0.2 in encoder/norm"
[[nodiscard]] std::string made_as(const GradFn& fn);

/// `value` is a result of the vertex that `edge` names, which is being made under `guard`.
/// Throws AnomalyError if it is not allowed.
void watch(const AnomalyGuard& guard, const Edge& edge, const Tensor& value);

}  // namespace troupe::detail

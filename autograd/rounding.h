// Backward functions of several steps, which compute in f32 for f16 and bf16 and round once.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "autograd/record.h"
#include "tensor/decompositions/rounding.h"

namespace troupe::detail {

/// Returns the saved tensor in f32 if it is f16 or bf16. Throws as Saved::get().
[[nodiscard]] inline Tensor wide(const Saved& saved) { return wide(saved.get()); }

/// Returns `backward` for record(): called with the gradient in f32 if that is f16 or bf16, and its result rounded to
/// the dtype of the gradient.
template <UnaryBackward Backward>
[[nodiscard]] auto rounded_once(Backward backward) {
  return [backward = std::move(backward)](const Tensor& g) { return rounded(backward(wide(g)), g.dtype()); };
}

/// As above for several inputs: `backward` itself rounds its results to the dtypes of the inputs, as reduce_to().
template <NaryBackward Backward>
[[nodiscard]] auto rounded_once(Backward backward) {
  return [backward = std::move(backward)](const Tensor& g, std::span<const Edge> to) { return backward(wide(g), to); };
}

}  // namespace troupe::detail

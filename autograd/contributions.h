// The one order in which gradients are summed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "autograd/call_path.h"
#include "tensor/sparse.h"
#include "tensor/tensor.h"

namespace troupe::detail {

/// One gradient on its way into a slot of a vertex, and who sent it.
struct Contribution {
  std::uint32_t slot = 0;
  const CreationMark* from = nullptr;  ///< of the contributing vertex, which outlives this; null: fed to a root
  std::uint32_t index = 0;             ///< the contributor's edge; for roots the order of their marking
  Tensor gradient;                     ///< defined, unless
  std::shared_ptr<const SparseTensor> rows = nullptr;  ///< the gradient of a leaf has few rows: these
};

/// Adds `next` to `arrived`, unless it has rows at once to the sum of its slot: less memory than to keep both. Every
/// vertex has the same call, and whatever a vertex contributed so far comes before `next` in the order of
/// sum_by_slot(), which gives the same sums as without this.
void add_in_order(std::vector<Contribution>& arrived, Contribution next);

/// Returns one sum per slot, undefined where nothing came. A single contribution is moved; a sum is a new tensor,
/// or in the memory of a summand that nobody else can see.
/// Order: what was fed to roots; then call by call, paths descending; inside a call serials descending, then edges
/// ascending. Each call is summed by itself before it meets the others. Consumes `contributions`.
[[nodiscard]] std::vector<Tensor> sum_by_slot(std::vector<Contribution> contributions, std::uint32_t slot_count);

/// Takes the contributions that have rows out of `contributions`, which are a leaf's. Returns their sum, all rows one
/// after another in the same order; null if there is none. The sum of the others comes after it.
[[nodiscard]] std::shared_ptr<const SparseTensor> take_rows(std::vector<Contribution>& contributions);

/// total = total + next, in the memory of `total` if nobody else can see it; `next` if it is undefined.
void add_to(Tensor& total, Tensor next);

}  // namespace troupe::detail

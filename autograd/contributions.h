// The order in which gradients are summed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "autograd/call_path.h"
#include "tensor/sparse.h"
#include "tensor/tensor.h"

namespace troupe::detail {

/// One gradient for a slot of a vertex, and the vertex that contributed it.
struct Contribution {
  std::uint32_t slot = 0;
  const CreationMark* from = nullptr;  ///< mark of the contributing vertex, which outlives this; null: fed to a root
  std::uint32_t index = 0;             ///< the contributor's edge; for roots the order of their marking
  Tensor gradient;                     ///< defined if `rows` is null
  std::shared_ptr<const SparseTensor> rows = nullptr;  ///< the gradient of a leaf as rows of a table, or null
};

/// Adds `next` to the sum of its slot in `arrived`, which saves memory. The first contribution of a vertex to a slot
/// and every contribution with rows become entries of their own. The sums equal those of sum_by_slot() alone.
/// `places` is for this function alone and empty at first: with several slots, where in `arrived` the sum of each is.
/// REQUIRES: all contributing vertices belong to one call, and every contribution in `arrived` precedes `next` in the
/// order of sum_by_slot().
void add_in_order(std::vector<Contribution>& arrived, std::vector<std::size_t>& places, std::uint32_t slot_count,
                  Contribution next);

/// Returns one sum per slot, undefined for a slot without contributions. A single contribution is moved. A sum is a new
/// tensor, or reuses the memory of a summand that no other handle shares.
/// Order: first the gradients fed to roots; then call by call, in descending order of path; within a call by descending
/// serial, then by ascending edge. Each call is summed by itself before it is added to the others. Consumes
/// `contributions`.
[[nodiscard]] std::vector<Tensor> sum_by_slot(std::vector<Contribution> contributions, std::uint32_t slot_count);

/// Removes the contributions that have rows from `contributions`, which are those of one leaf. Returns their sum: all
/// rows concatenated in the order above; null if none has rows. The caller adds the sum of the other contributions
/// after it.
[[nodiscard]] std::shared_ptr<const SparseTensor> take_rows(std::vector<Contribution>& contributions);

/// Sets `total` to total + next, in the memory of `total` if no other handle shares it. An undefined `total` becomes
/// `next`.
void add_to(Tensor& total, Tensor next);

}  // namespace troupe::detail

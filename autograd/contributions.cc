#include "autograd/contributions.h"

#include <algorithm>
#include <utility>

#include "tensor/ops.h"

namespace troupe::detail {
namespace {

bool same_call(const Contribution& a, const Contribution& b) {
  if (!a.from || !b.from) return a.from == b.from;
  return a.from->call == b.from->call || a.from->path() == b.from->path();
}

bool comes_before(const Contribution& a, const Contribution& b) {
  if (a.slot != b.slot) return a.slot < b.slot;
  if (!a.from || !b.from) return a.from == b.from ? a.index < b.index : !a.from;
  if (!same_call(a, b)) return a.from->path() > b.from->path();
  if (a.from->serial != b.from->serial) return a.from->serial > b.from->serial;
  return a.index < b.index;
}

/// total = total + next, in the memory of `total` if nobody else can see it.
void add_to(Tensor& total, Tensor next) {
  if (!total.defined()) {
    total = std::move(next);
    return;
  }
  const bool own = total.is_contiguous() && total.storage().handle_count() == 1;
  if (own && total.shape() == next.shape() && total.dtype() == next.dtype()) {
    add_into(total, next);
  } else {
    total = add(total, next);
  }
}

}  // namespace

void add_in_order(std::vector<Contribution>& arrived, Contribution next) {
  for (Contribution& there : arrived) {
    if (!there.from || there.slot != next.slot) continue;
    return add_to(there.gradient, std::move(next.gradient));
  }
  arrived.push_back(std::move(next));
}

std::vector<Tensor> sum_by_slot(std::vector<Contribution> contributions, std::uint32_t slot_count) {
  std::vector<Tensor> sums(slot_count);
  if (contributions.size() == 1) {
    sums[contributions.front().slot] = std::move(contributions.front().gradient);
    return sums;
  }
  std::stable_sort(contributions.begin(), contributions.end(), comes_before);
  auto at = contributions.begin();
  const auto end = contributions.end();
  while (at != end) {
    const std::uint32_t slot = at->slot;
    Tensor across_calls;
    while (at != end && at->slot == slot) {
      const auto first = at;
      Tensor inside_call;
      for (; at != end && at->slot == slot && same_call(*at, *first); ++at)
        add_to(inside_call, std::move(at->gradient));
      add_to(across_calls, std::move(inside_call));
    }
    sums[slot] = std::move(across_calls);
  }
  return sums;
}

}  // namespace troupe::detail

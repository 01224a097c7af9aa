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

/// A sum under way. The first summand is taken as it is and may be shared; the memory of a sum is its own.
class Sum {
 public:
  void add(Tensor next) {
    if (!total_.defined()) {
      total_ = std::move(next);
    } else if (!own_) {
      total_ = troupe::add(total_, next);
      own_ = true;
    } else {
      add_into(total_, next);
    }
  }
  [[nodiscard]] Tensor take() { return std::move(total_); }

 private:
  Tensor total_;
  bool own_ = false;
};

}  // namespace

void add_in_order(std::vector<Contribution>& arrived, Contribution next) {
  for (Contribution& there : arrived) {
    if (!there.from || there.slot != next.slot) continue;
    if (there.sum) {
      add_into(there.gradient, next.gradient);
    } else {
      there.gradient = add(there.gradient, next.gradient);
      there.sum = true;
    }
    return;
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
    Sum across_calls;
    while (at != end && at->slot == slot) {
      const auto first = at;
      Sum inside_call;
      for (; at != end && at->slot == slot && same_call(*at, *first); ++at) inside_call.add(std::move(at->gradient));
      across_calls.add(inside_call.take());
    }
    sums[slot] = across_calls.take();
  }
  return sums;
}

}  // namespace troupe::detail

#include "autograd/contributions.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "tensor/ops.h"

namespace troupe::detail {
namespace {

bool same_call(const Contribution& a, const Contribution& b) {
  if (!a.from || !b.from) return a.from == b.from;
  return a.from->call == b.from->call || a.from->path() == b.from->path();
}

constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

bool comes_before(const Contribution& a, const Contribution& b) {
  if (a.slot != b.slot) return a.slot < b.slot;
  if (!a.from || !b.from) return a.from == b.from ? a.index < b.index : !a.from;
  if (!same_call(a, b)) return a.from->path() > b.from->path();
  if (a.from->serial != b.from->serial) return a.from->serial > b.from->serial;
  return a.index < b.index;
}

}  // namespace

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

void add_in_order(std::vector<Contribution>& arrived, std::vector<std::size_t>& places, std::uint32_t slot_count,
                  Contribution next) {
  const auto is_sum = [](const Contribution& there) { return !there.rows && there.from; };
  if (slot_count == 1) {
    const auto sum = next.rows ? arrived.end() : std::find_if(arrived.begin(), arrived.end(), is_sum);
    if (sum != arrived.end()) return add_to(sum->gradient, std::move(next.gradient));
  } else {  // an unbind may have 100000 slots
    if (places.empty()) places.resize(slot_count, kNowhere);
    std::size_t& place = places[next.slot];
    if (place != kNowhere) return add_to(arrived[place].gradient, std::move(next.gradient));
    place = arrived.size();
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

std::shared_ptr<const SparseTensor> take_rows(std::vector<Contribution>& contributions) {
  const auto has_rows = [](const Contribution& c) { return c.rows != nullptr; };
  std::vector<Contribution> with_rows;
  std::copy_if(contributions.begin(), contributions.end(), std::back_inserter(with_rows), has_rows);
  if (with_rows.empty()) return nullptr;
  std::erase_if(contributions, has_rows);
  if (with_rows.size() == 1) return with_rows.front().rows;
  std::stable_sort(with_rows.begin(), with_rows.end(), comes_before);
  std::vector<SparseTensor> parts;
  for (const Contribution& c : with_rows) parts.push_back(*c.rows);
  return std::make_shared<const SparseTensor>(add(parts));
}

}  // namespace troupe::detail

#include "autograd/gradients.h"

#include <array>
#include <unordered_set>

#include "tensor/ops.h"

namespace troupe {

Tensor Gradients::of(const Variable& leaf) const {
  const auto found = by_leaf_.find(leaf.id());
  if (found == by_leaf_.end()) return {};
  const Tensor& gradient = entries_[found->second.place].second;
  return gradient.defined() ? gradient : found->second.rows.to_dense();
}

SparseTensor Gradients::sparse_of(const Variable& leaf) const {
  const auto found = by_leaf_.find(leaf.id());
  if (found == by_leaf_.end() || !found->second.rows.defined()) return {};
  found->second.rows = found->second.rows.coalesce();
  return found->second.rows;
}

void Gradients::add(const Variable& leaf, const Tensor& gradient) {
  const auto [found, is_new] = by_leaf_.try_emplace(leaf.id(), Kept{.place = entries_.size(), .rows = {}});
  if (is_new) {
    entries_.emplace_back(leaf, gradient);
    return;
  }
  entries_[found->second.place].second = troupe::add(of(leaf), gradient);
  found->second.rows = {};
}

void Gradients::add(const Variable& leaf, const SparseTensor& gradient) {
  const auto [found, is_new] = by_leaf_.try_emplace(leaf.id(), Kept{.place = entries_.size(), .rows = gradient});
  if (is_new) {
    entries_.emplace_back(leaf, Tensor());
    return;
  }
  Kept& kept = found->second;
  if (!kept.rows.defined()) return add(leaf, gradient.to_dense());
  // Coalesced separately before the addition, as dense gradients of several passes are summed.
  kept.rows = troupe::add(std::array{kept.rows.coalesce(), gradient.coalesce()}).coalesce();
  entries_[kept.place].second = {};
}

void Gradients::add(const Gradients& others) {
  for (const auto& [leaf, gradient] : others.entries_) {
    const SparseTensor& rows = others.by_leaf_.at(leaf.id()).rows;
    if (rows.defined()) {
      add(leaf, rows);
    } else {
      add(leaf, gradient);
    }
  }
}

Gradients Gradients::without(std::span<const Variable> others) const {
  std::unordered_set<const void*> left_out;
  for (const Variable& leaf : others) left_out.insert(leaf.id());
  Gradients rest;
  for (const auto& [leaf, gradient] : entries_) {
    if (left_out.contains(leaf.id())) continue;
    const SparseTensor& rows = by_leaf_.at(leaf.id()).rows;
    if (rows.defined()) {
      rest.add(leaf, rows);
    } else {
      rest.add(leaf, gradient);
    }
  }
  return rest;
}

std::vector<Gradients::Entry>::const_iterator Gradients::begin() const {
  for (auto& [leaf, gradient] : entries_) {
    if (!gradient.defined()) gradient = by_leaf_.at(leaf.id()).rows.to_dense();
  }
  return entries_.begin();
}

std::vector<Variable> Gradients::leaves() const {
  std::vector<Variable> all;
  for (const auto& [leaf, gradient] : entries_) all.push_back(leaf);
  return all;
}

}  // namespace troupe

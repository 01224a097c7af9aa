#include "autograd/gradients.h"

#include <array>
#include <unordered_set>

#include "tensor/ops.h"

namespace troupe {

Tensor Gradients::of(const Variable& leaf) const {
  const auto found = index_.find(leaf.id());
  if (found == index_.end()) return {};
  const Tensor& gradient = entries_[found->second].second;
  return gradient.defined() ? gradient : sparse_.at(leaf.id()).to_dense();
}

SparseTensor Gradients::sparse_of(const Variable& leaf) const {
  const auto found = sparse_.find(leaf.id());
  if (found == sparse_.end()) return {};
  found->second = found->second.coalesce();
  return found->second;
}

void Gradients::add(const Variable& leaf, const Tensor& gradient) {
  auto [place, is_new] = index_.try_emplace(leaf.id(), entries_.size());
  if (is_new) {
    entries_.emplace_back(leaf, gradient);
    return;
  }
  Tensor& there = entries_[place->second].second;
  there = troupe::add(of(leaf), gradient);
  sparse_.erase(leaf.id());
}

void Gradients::add(const Variable& leaf, const SparseTensor& gradient) {
  const auto there = sparse_.find(leaf.id());
  if (there == sparse_.end() && index_.contains(leaf.id())) return add(leaf, gradient.to_dense());
  if (there == sparse_.end()) {
    index_.emplace(leaf.id(), entries_.size());
    entries_.emplace_back(leaf, Tensor());
    sparse_.emplace(leaf.id(), gradient);
    return;
  }
  // Coalesced separately before the addition, as dense gradients of several passes are summed.
  there->second = troupe::add(std::array{there->second.coalesce(), gradient.coalesce()}).coalesce();
  entries_[index_.at(leaf.id())].second = {};
}

void Gradients::add(const Gradients& others) {
  for (const auto& [leaf, gradient] : others.entries_) {
    const auto rows = others.sparse_.find(leaf.id());
    if (rows != others.sparse_.end()) {
      add(leaf, rows->second);
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
    const auto rows = sparse_.find(leaf.id());
    if (rows != sparse_.end()) {
      rest.add(leaf, rows->second);
    } else {
      rest.add(leaf, gradient);
    }
  }
  return rest;
}

std::vector<Gradients::Entry>::const_iterator Gradients::begin() const {
  for (auto& [leaf, gradient] : entries_) {
    if (!gradient.defined()) gradient = sparse_.at(leaf.id()).to_dense();
  }
  return entries_.begin();
}

std::vector<Variable> Gradients::leaves() const {
  std::vector<Variable> all;
  for (const auto& [leaf, gradient] : entries_) all.push_back(leaf);
  return all;
}

}  // namespace troupe

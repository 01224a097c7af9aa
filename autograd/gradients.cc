#include "autograd/gradients.h"

#include "tensor/ops.h"

namespace troupe {

Tensor Gradients::of(const Variable& leaf) const {
  auto found = index_.find(leaf.id());
  return found == index_.end() ? Tensor() : entries_[found->second].second;
}

void Gradients::add(const Variable& leaf, const Tensor& gradient) {
  auto [place, is_new] = index_.try_emplace(leaf.id(), entries_.size());
  if (is_new) {
    entries_.emplace_back(leaf, gradient);
  } else {
    Tensor& there = entries_[place->second].second;
    there = troupe::add(there, gradient);
  }
}

void Gradients::add(const Gradients& others) {
  for (const auto& [leaf, gradient] : others) add(leaf, gradient);
}

}  // namespace troupe

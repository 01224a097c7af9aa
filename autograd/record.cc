#include "autograd/record.h"

#include <fmt/format.h>

#include <stdexcept>
#include <unordered_map>

#include "autograd/describe.h"
#include "tensor/ops.h"

namespace troupe::detail {
namespace {

/// Collects all edges, or none if no input requires a gradient.
class EdgeList {
 public:
  explicit EdgeList(std::size_t count) { edges_.reserve(count); }

  void add(const Variable& input) {
    edges_.push_back(input.defined() ? input.gradient_edge() : Edge{});
    any_ = any_ || edges_.back();
  }

  [[nodiscard]] std::vector<Edge> take() { return any_ ? std::move(edges_) : std::vector<Edge>(); }

 private:
  std::vector<Edge> edges_;
  bool any_ = false;
};

}  // namespace

Tensor reduce_to(const Layout& input, const Tensor& gradient) { return sum_to(gradient, input.shape).to(input.dtype); }

const Tensor& Saved::get() const {
  if (value_.version() != version_) {
    throw std::logic_error(
        fmt::format("a value that it saved, {}, was written to afterwards: version {}, saved at version {}",
                    describe(value_), value_.version(), version_));
  }
  return value_;
}

Saved saved_for(const Variable& of, const Tensor& value) {
  return grad_enabled() && of.requires_grad() ? Saved(value) : Saved();
}

Tensor value_or_undefined(const Variable& input) { return input.defined() ? input.value() : Tensor(); }

Tensor value_of_target(std::string_view name, const Variable& target) {
  Tensor value = target.value();
  if (grad_enabled() && target.requires_grad()) {
    throw ValueError(fmt::format(
        "[{}] the target requires a gradient, which this operation does not give: pass target.detach()", name));
  }
  return value;
}

std::vector<Tensor> values_of(std::span<const Variable> inputs) {
  std::vector<Tensor> values;
  values.reserve(inputs.size());
  std::unordered_map<const void*, std::size_t> places;
  for (const Variable& input : inputs) {
    const auto [known, is_new] = places.try_emplace(input.id(), values.size());
    values.push_back(is_new ? input.value() : values[known->second]);
  }
  return values;
}

std::vector<Edge> edges_of(std::initializer_list<const Variable*> inputs) {
  if (!grad_enabled()) return {};
  EdgeList edges(inputs.size());
  for (const Variable* input : inputs) edges.add(*input);
  return edges.take();
}

std::vector<Edge> edges_of(std::span<const Variable> inputs) {
  if (!grad_enabled()) return {};
  EdgeList edges(inputs.size());
  for (const Variable& input : inputs) edges.add(input);
  return edges.take();
}

}  // namespace troupe::detail

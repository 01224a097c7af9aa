#include "autograd/one_version.h"

#include <unordered_map>
#include <utility>

namespace troupe::detail {

Variable as_it_is(const Variable& input) {
  if (!input.defined() || !input.is_leaf()) return input;
  Edge edge = grad_enabled() ? input.gradient_edge() : Edge{};
  return edge ? Variable::output_of(std::move(edge), input.value()) : Variable(input.value());
}

std::vector<Variable> one_version_of(std::span<const Variable> inputs) {
  std::vector<Variable> versions;
  versions.reserve(inputs.size());
  std::unordered_map<const void*, std::size_t> places;
  for (const Variable& input : inputs) {
    const auto [known, is_new] = places.try_emplace(input.id(), versions.size());
    versions.push_back(is_new ? as_it_is(input) : versions[known->second]);
  }
  return versions;
}

}  // namespace troupe::detail

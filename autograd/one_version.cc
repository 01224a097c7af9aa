#include "autograd/one_version.h"

#include <utility>

namespace troupe::detail {

Variable as_it_is(const Variable& input) {
  if (!input.defined() || !input.is_leaf()) return input;
  Edge edge = grad_enabled() ? input.gradient_edge() : Edge{};
  return edge ? Variable::output_of(std::move(edge), input.value()) : Variable(input.value());
}

}  // namespace troupe::detail

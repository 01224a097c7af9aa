#include "autograd/ops.h"
#include "autograd/ops/nn.h"
#include "tests/reference/entries.h"

namespace troupe::reference {

Entries product_entries() {
  return {
      {"matmul", [](const Case& c) { return matmul(c.in(0), c.in(1)); }},
      {"linear", [](const Case& c) { return linear(c.in(0), c.in(1), c.inputs().size() > 2 ? c.in(2) : Variable()); }},
  };
}

}  // namespace troupe::reference

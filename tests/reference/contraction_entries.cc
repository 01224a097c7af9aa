#include "autograd/ops.h"
#include "tests/reference/entries.h"

namespace troupe::reference {

Entries contraction_entries() {
  return {
      {"bmm", [](const Case& c) { return bmm(c.in(0), c.in(1)); }},
      {"addmm", [](const Case& c) { return addmm(c.in(0), c.in(1), c.in(2), c.number("beta"), c.number("alpha")); }},
      {"outer", [](const Case& c) { return outer(c.in(0), c.in(1)); }},
      {"mv", [](const Case& c) { return mv(c.in(0), c.in(1)); }},
      {"dot", [](const Case& c) { return dot(c.in(0), c.in(1)); }},
      {"einsum", [](const Case& c) { return einsum(c.text("equation"), c.inputs()); }},
  };
}

}  // namespace troupe::reference

#include "autograd/ops.h"
#include "tests/reference/entries.h"

namespace troupe::reference {

Entries arrange_entries() {
  return {
      {"diagonal", [](const Case& c) { return diagonal(c.in(0), c.integer("offset"), c.dim("a"), c.dim("b")); }},
      {"diag_embed", [](const Case& c) { return diag_embed(c.in(0), c.integer("offset"), c.dim("a"), c.dim("b")); }},
      {"diag", [](const Case& c) { return diag(c.in(0)); }},
      {"trace", [](const Case& c) { return trace(c.in(0)); }},
      {"unbind", [](const Case& c) { return unbind(c.in(0), c.dim()); }},
      {"movedim", [](const Case& c) { return movedim(c.in(0), c.dims("source"), c.dims("places")); }},
      {"unflatten", [](const Case& c) { return unflatten(c.in(0), c.dim(), c.shape("sizes")); }},
      {"tile", [](const Case& c) { return tile(c.in(0), c.integers("counts")); }},
      {"repeat_interleave", [](const Case& c) { return repeat_interleave(c.in(0), c.integer("count"), c.dim()); }},
      {"repeat_interleave_counts", [](const Case& c) { return repeat_interleave(c.in(0), c.tensor(1), c.dim()); }},
      {"vstack", [](const Case& c) { return vstack(c.inputs()); }},
      {"hstack", [](const Case& c) { return hstack(c.inputs()); }},
      {"meshgrid", [](const Case& c) { return meshgrid(c.inputs(), c.text("order") == "xy" ? MeshOrder::xy : MeshOrder::ij); }},
      {"diff", [](const Case& c) { return diff(c.in(0), c.integer("n"), c.dim()); }},
      {"baddbmm", [](const Case& c) { return baddbmm(c.in(0), c.in(1), c.in(2), c.number("beta"), c.number("alpha")); }},
  };
}

}  // namespace troupe::reference

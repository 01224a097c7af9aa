#include "autograd/ops.h"
#include "tests/reference/entries.h"

namespace troupe::reference {
namespace {

Tensor two_rows(const Tensor& index) { return index.view({2, 3}); }

std::vector<Variable> all_of(const Unique& found) { return {found.values, found.inverse, found.counts}; }

Variable cdist_of_first(const Case& c) {
  return cdist(c.in(0), concat(std::vector<Variable>{slice(c.in(0), 0, 0, 1), c.in(1)}), c.number("p"));
}

}  // namespace

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
      {"meshgrid",
       [](const Case& c) { return meshgrid(c.inputs(), c.text("order") == "xy" ? MeshOrder::xy : MeshOrder::ij); }},
      {"diff", [](const Case& c) { return diff(c.in(0), c.integer("n"), c.dim()); }},
      {"baddbmm",
       [](const Case& c) { return baddbmm(c.in(0), c.in(1), c.in(2), c.number("beta"), c.number("alpha")); }},
      {"scatter", [](const Case& c) { return scatter(c.in(0), c.dim(), two_rows(c.tensor(1)), c.in(2)); }},
      {"scatter_value",
       [](const Case& c) {
         return scatter(c.in(0), c.dim(), two_rows(c.tensor(1)).slice(1, 0, 2), c.number("value"));
       }},
      {"take_along_dim", [](const Case& c) { return take_along_dim(c.in(0), c.tensor(1), c.dim()); }},
      {"index_fill", [](const Case& c) { return index_fill(c.in(0), c.dim(), c.tensor(1), c.number("value")); }},
      {"index_copy", [](const Case& c) { return index_copy(c.in(0), c.dim(), c.tensor(1), c.in(2)); }},
      {"masked_scatter", [](const Case& c) { return masked_scatter(c.in(0), c.tensor(1), c.in(2)); }},
      {"unique", [](const Case& c) { return all_of(unique(c.tensor(0))); }},
      {"bincount", [](const Case& c) { return bincount(c.tensor(0), {}, c.integer("length")); }},
      {"bincount_weights", [](const Case& c) { return bincount(c.tensor(0), c.tensor(1)); }},
      {"histc", [](const Case& c) { return histc(c.tensor(0), c.integer("bins"), c.number("low"), c.number("high")); }},
      {"searchsorted",
       [](const Case& c) {
         return searchsorted(c.tensor(0), c.tensor(1), c.flag("right") ? Side::right : Side::left);
       }},
      {"cumprod", [](const Case& c) { return cumprod(c.in(0), c.dim()); }},
      {"cummax", [](const Case& c) { return Computed(cummax(c.in(0), c.dim())); }},
      {"cummin", [](const Case& c) { return Computed(cummin(c.in(0), c.dim())); }},
      {"median", [](const Case& c) { return Computed(median(c.in(0), c.dim())); }},
      {"median_of_all", [](const Case& c) { return median(c.in(0)); }},
      {"quantile", [](const Case& c) { return quantile(c.in(0), c.numbers("q"), c.dim()); }},
      {"count_nonzero", [](const Case& c) { return count_nonzero(c.tensor(0), c.dim()); }},
      {"tensordot", [](const Case& c) { return tensordot(c.in(0), c.in(1), c.dims("left"), c.dims("right")); }},
      {"kron", [](const Case& c) { return kron(c.in(0), c.in(1)); }},
      {"cross", [](const Case& c) { return cross(c.in(0), c.in(1), c.dim()); }},
      {"cdist", cdist_of_first},
  };
}

}  // namespace troupe::reference

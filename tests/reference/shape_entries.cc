#include "autograd/ops.h"
#include "tests/reference/entries.h"

namespace troupe::reference {
namespace {

Order order(bool descending) { return descending ? Order::descending : Order::ascending; }

}  // namespace

Entries shape_entries() {
  return {
      {"reshape", [](const Case& c) { return reshape(c.in(0), c.shape("shape")); }},
      {"flatten", [](const Case& c) { return flatten(c.in(0), c.dim("first"), c.dim("last")); }},
      {"transpose", [](const Case& c) { return transpose(c.in(0), c.dim("a"), c.dim("b")); }},
      {"permute", [](const Case& c) { return permute(c.in(0), c.dims("dims")); }},
      {"squeeze", [](const Case& c) { return squeeze(c.in(0), c.dim()); }},
      {"unsqueeze", [](const Case& c) { return unsqueeze(c.in(0), c.dim()); }},
      {"expand", [](const Case& c) { return expand(c.in(0), c.shape("shape")); }},
      {"slice",
       [](const Case& c) { return slice(c.in(0), c.dim(), c.integer("begin"), c.integer("end"), c.integer("step")); }},
      {"select", [](const Case& c) { return select(c.in(0), c.dim(), c.integer("index")); }},
      {"concat", [](const Case& c) { return concat(c.inputs(), c.dim()); }},
      {"stack", [](const Case& c) { return stack(c.inputs(), c.dim()); }},
      {"index_select", [](const Case& c) { return index_select(c.in(0), c.dim(), c.tensor(1)); }},
      {"embedding", [](const Case& c) { return embedding(c.in(0), c.tensor(1)); }},
      {"one_hot", [](const Case& c) { return one_hot(c.tensor(0), c.integer("classes"), c.dtype()); }},
      {"narrow", [](const Case& c) { return narrow(c.in(0), c.dim(), c.integer("start"), c.integer("length")); }},
      {"split", [](const Case& c) { return split(c.in(0), c.integer("size"), c.dim()); }},
      {"split_with_sizes", [](const Case& c) { return split_with_sizes(c.in(0), c.integers("sizes"), c.dim()); }},
      {"chunk", [](const Case& c) { return chunk(c.in(0), c.integer("count"), c.dim()); }},
      {"flip", [](const Case& c) { return flip(c.in(0), c.dims("axes")); }},
      {"pad", [](const Case& c) { return pad(c.in(0), c.integers("amounts"), c.number("value")); }},
      {"tril", [](const Case& c) { return tril(c.in(0), c.integer("diagonal")); }},
      {"triu", [](const Case& c) { return triu(c.in(0), c.integer("diagonal")); }},
      {"gather", [](const Case& c) { return gather(c.in(0), c.dim(), c.tensor(1)); }},
      {"scatter_add", [](const Case& c) { return scatter_add(c.in(0), c.dim(), c.tensor(1), c.in(2)); }},
      {"masked_fill", [](const Case& c) { return masked_fill(c.in(0), c.tensor(1), c.number("value")); }},
      {"sort", [](const Case& c) { return Computed(sort(c.in(0), c.dim(), order(c.flag("descending")))); }},
      {"topk",
       [](const Case& c) { return Computed(topk(c.in(0), c.integer("k"), c.dim(), order(c.flag("largest")))); }},
      {"argsort", [](const Case& c) { return argsort(c.tensor(0), c.dim()); }},
  };
}

}  // namespace troupe::reference

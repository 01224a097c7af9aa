#include "autograd/ops.h"
#include "tests/reference/entries.h"

namespace troupe::reference {

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
  };
}

}  // namespace troupe::reference

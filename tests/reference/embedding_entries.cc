#include "autograd/ops/embedding.h"
#include "tensor/ops/index.h"
#include "tests/reference/entries.h"

namespace troupe::reference {
namespace {

BagMode mode(const Case& c) {
  const std::string name = c.text("mode");
  return name == "sum" ? BagMode::sum : name == "mean" ? BagMode::mean : BagMode::max;
}

}  // namespace

Entries embedding_entries() {
  return {
      {"padded_embedding",
       [](const Case& c) {
         return embedding(c.in(0), c.tensor(1), {.padding_idx = c.integer("padding_idx"), .sparse = c.flag("sparse")});
       }},
      {"embedding_bag",
       [](const Case& c) {
         EmbeddingBagOptions options{.mode = mode(c), .sparse = c.flag("sparse")};
         options.include_last_offset = c.has("include_last_offset") && c.flag("include_last_offset");
         if (c.has("padding_idx")) options.padding_idx = c.integer("padding_idx");
         return embedding_bag(c.in(0), c.tensor(1), c.inputs().size() > 2 ? c.tensor(2) : Tensor(), options,
                              c.inputs().size() > 3 ? c.in(3) : Variable());
       }},
      {"counted_one_hot", [](const Case& c) { return one_hot(c.tensor(0)); }},
  };
}

}  // namespace troupe::reference

#include "autograd/ops/nn.h"
#include "tests/reference/entries.h"

namespace troupe::reference {
namespace {}  // namespace

Entries nn_entries() {
  return {
      {"softmax", [](const Case& c) { return softmax(c.in(0), c.dim()); }},
      {"log_softmax", [](const Case& c) { return log_softmax(c.in(0), c.dim()); }},
      {"conv2d",
       [](const Case& c) {
         return conv2d(
             c.in(0), c.in(1), c.inputs().size() > 2 ? c.in(2) : Variable(),
             {.stride = c.size2d("stride"), .padding = c.size2d("padding"), .dilation = c.size2d("dilation")});
       }},
      {"max_pool2d",
       [](const Case& c) {
         return max_pool2d(
             c.in(0), {.kernel = c.size2d("kernel"), .stride = c.size2d("stride"), .padding = c.size2d("padding")});
       }},
      {"dropout",
       [](const Case& c) {
         Generator generator(1);
         return dropout(c.in(0), c.number("probability"), generator);
       }},
      {"nll_loss", [](const Case& c) { return nll_loss(c.in(0), c.tensor(1), c.reduction()); }},
      {"cross_entropy", [](const Case& c) { return cross_entropy(c.in(0), c.tensor(1), c.reduction()); }},
      {"mse_loss", [](const Case& c) { return mse_loss(c.in(0), c.in(1), c.reduction()); }},
  };
}

}  // namespace troupe::reference

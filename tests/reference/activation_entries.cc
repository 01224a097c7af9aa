#include "autograd/nn/activation.h"
#include "autograd/nn/state_dict.h"
#include "autograd/ops.h"
#include "autograd/ops/nn.h"
#include "tests/reference/entries.h"

namespace troupe::reference {

Entries activation_entries() {
  return {
      {"selu", [](const Case& c) { return selu(c.in(0)); }},
      {"mish", [](const Case& c) { return mish(c.in(0)); }},
      {"softsign", [](const Case& c) { return softsign(c.in(0)); }},
      {"tanhshrink", [](const Case& c) { return tanhshrink(c.in(0)); }},
      {"hardsigmoid", [](const Case& c) { return hardsigmoid(c.in(0)); }},
      {"hardswish", [](const Case& c) { return hardswish(c.in(0)); }},
      {"celu", [](const Case& c) { return celu(c.in(0), c.number("alpha")); }},
      {"softshrink", [](const Case& c) { return softshrink(c.in(0), c.number("number")); }},
      {"hardshrink", [](const Case& c) { return hardshrink(c.in(0), c.number("number")); }},
      {"threshold", [](const Case& c) { return threshold(c.in(0), c.number("limit"), c.number("value")); }},
      {"prelu", [](const Case& c) { return prelu(c.in(0), c.in(1)); }},
      {"glu", [](const Case& c) { return glu(c.in(0), c.dim()); }},
      {"softmin", [](const Case& c) { return softmin(c.in(0), c.dim()); }},
      {"Prelu",
       [](const Case& c) {
         const auto layer = std::make_shared<nn::Prelu>(c.integer("channels"), 0.25, c.dtype());
         nn::load_state_dict(*layer, c.all("parameter."));
         return Computed(layer->forward(c.in(0)), layer);
       }},
  };
}

}  // namespace troupe::reference

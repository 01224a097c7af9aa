#include "autograd/ops.h"
#include "autograd/ops/nn.h"
#include "tests/reference/entries.h"

namespace troupe::reference {
namespace {

Rounding rounding(const Case& c) { return c.text("mode") == "trunc" ? Rounding::trunc : Rounding::floor; }

Variable bias(const Case& c, std::size_t at) { return c.inputs().size() > at ? c.in(at) : Variable(); }

}  // namespace

Entries options_entries() {
  return {
      {"sum_of_two", [](const Case& c) { return c.in(0) + c.in(1); }},
      {"product_of_two", [](const Case& c) { return c.in(0) * c.in(1); }},
      {"quotient_of_two", [](const Case& c) { return c.in(0) / c.in(1); }},
      {"sum_with", [](const Case& c) { return c.in(0) + c.number("b"); }},
      {"product_with", [](const Case& c) { return c.in(0) * c.number("b"); }},
      {"greater_than", [](const Case& c) { return gt(c.tensor(0), c.number("b")); }},
      {"limited", [](const Case& c) { return clamp(c.in(0), c.number("low"), c.number("high")); }},
      {"chosen", [](const Case& c) { return where(c.tensor(0), c.in(1), c.in(2)); }},
      {"whole_power", [](const Case& c) { return pow(c.in(0), c.number("exponent")); }},
      {"power_of_two", [](const Case& c) { return pow(c.in(0), c.in(1)); }},
      {"whole_product", [](const Case& c) { return matmul(c.in(0), c.in(1)); }},
      {"sign_of", [](const Case& c) { return sign(c.tensor(0)); }},
      {"logsumexp_of_nothing", [](const Case& c) { return logsumexp(c.in(0), c.dims("axes")); }},
      {"add_alpha", [](const Case& c) { return add(c.in(0), c.in(1), c.number("alpha")); }},
      {"sub_alpha", [](const Case& c) { return sub(c.in(0), c.in(1), c.number("alpha")); }},
      {"div_rounded", [](const Case& c) { return div(c.in(0), c.in(1), rounding(c)); }},
      {"argmax_of_all", [](const Case& c) { return argmax(c.tensor(0)); }},
      {"argmin_of_all", [](const Case& c) { return argmin(c.tensor(0)); }},
      {"squeeze_all", [](const Case& c) { return squeeze(c.in(0)); }},
      {"expand_some", [](const Case& c) { return expand(c.in(0), c.shape("shape")); }},
      {"roll_dims", [](const Case& c) { return roll(c.in(0), c.integers("shifts"), c.dims("dims")); }},
      {"roll_all", [](const Case& c) { return roll(c.in(0), c.integer("shift")); }},
      {"softplus_threshold", [](const Case& c) { return softplus(c.in(0), c.number("beta"), c.number("threshold")); }},
      {"bilinear", [](const Case& c) { return bilinear(c.in(0), c.in(1), c.in(2), bias(c, 3)); }},
      {"local_response_norm",
       [](const Case& c) {
         return local_response_norm(c.in(0), c.integer("size"), c.number("alpha"), c.number("beta"), c.number("k"));
       }},
      {"conv1d_same",
       [](const Case& c) {
         return conv1d(c.in(0), c.in(1), bias(c, 2), {.padding = kSame, .dilation = c.integer("dilation")});
       }},
      {"conv2d_same",
       [](const Case& c) {
         return conv2d(c.in(0), c.in(1), bias(c, 2), {.padding = {kSame, kSame}, .dilation = c.size2d("dilation")});
       }},
  };
}

}  // namespace troupe::reference

#include "autograd/ops/inplace.h"
#include "tests/reference/entries.h"

namespace troupe::reference {
namespace {

/// Returns a copy of the first input to write into.
Tensor copy(const Case& c) { return c.in(0).value().clone(); }

Tensor other(const Case& c) { return c.in(1).value(); }

}  // namespace

Entries inplace_entries() {
  return {
      {"add_", [](const Case& c) { return add_(copy(c), other(c), c.number("alpha")); }},
      {"sub_", [](const Case& c) { return sub_(copy(c), other(c), c.number("alpha")); }},
      {"mul_", [](const Case& c) { return mul_(copy(c), other(c)); }},
      {"div_", [](const Case& c) { return div_(copy(c), other(c)); }},
      {"copy_", [](const Case& c) { return copy_(copy(c), other(c)); }},
      {"clamp_", [](const Case& c) { return clamp_(copy(c), c.number("low"), c.number("high")); }},
      {"fill_", [](const Case& c) { return fill_(copy(c), c.number("value")); }},
      {"zero_", [](const Case& c) { return zero_(copy(c)); }},
  };
}

}  // namespace troupe::reference

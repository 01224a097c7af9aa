// Variables as text: their values, as tensor/print.h has them.
#pragma once

#include <iosfwd>
#include <string>

#include "autograd/variable.h"

namespace troupe {

/// An undefined variable is "undefined".
[[nodiscard]] std::string to_string(const Variable& variable);
std::ostream& operator<<(std::ostream& out, const Variable& variable);

}  // namespace troupe

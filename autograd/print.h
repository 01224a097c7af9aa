// Prints variables: their values, formatted as in tensor/print.h.
#pragma once

#include <iosfwd>
#include <string>

#include "autograd/variable.h"

namespace troupe {

/// Returns the text of the value, or "undefined" for an undefined variable.
[[nodiscard]] std::string to_string(const Variable& variable);
std::ostream& operator<<(std::ostream& out, const Variable& variable);

}  // namespace troupe

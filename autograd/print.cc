#include "autograd/print.h"

#include <ostream>

#include "tensor/print.h"

namespace troupe {

std::string to_string(const Variable& variable) { return to_string(variable.defined() ? variable.value() : Tensor()); }

std::ostream& operator<<(std::ostream& out, const Variable& variable) { return out << to_string(variable); }

}  // namespace troupe

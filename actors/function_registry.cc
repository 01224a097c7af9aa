#include "actors/function_registry.h"

namespace troupe {

FunctionRegistry::FunctionRegistry(std::initializer_list<Registration> registrations) { add(registrations); }

FunctionRegistry FunctionRegistry::with(std::initializer_list<Registration> registrations) const {
  FunctionRegistry both = *this;
  both.add(registrations);
  return both;
}

void FunctionRegistry::add(std::initializer_list<Registration> registrations) {
  for (const Registration& registration : registrations) {
    for (const Registration::Entry& entry : registration.entries()) {
      std::visit([this](const auto& one) { table_.add(one); }, entry);
    }
  }
}

}  // namespace troupe

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
    std::visit([this](const auto& entry) { table_.add(entry); }, registration.entry());
  }
}

}  // namespace troupe

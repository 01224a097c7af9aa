#include "actors/core/type_name.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace troupe::detail {

std::string type_name(std::type_index type) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(type.name(), nullptr, nullptr, &status),
                                                    std::free);
  return status == 0 ? name.get() : type.name();
}

}  // namespace troupe::detail

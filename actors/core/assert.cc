#include "actors/core/assert.h"

#include <string_view>

namespace troupe::detail {

void invariant_broken(const char* condition, const std::string& what, const char* file, std::uint32_t line) {
  const std::string_view path = file;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  throw BrokenInvariant(what + " (" + std::string(name) + ":" + std::to_string(line) + ": " + condition + " is false)");
}

}  // namespace troupe::detail

// What the operating system says of an error number.
#pragma once

#include <string>
#include <system_error>

namespace troupe::detail {

/// Returns the text of `error`, a value of errno: "No such file or directory".
[[nodiscard]] inline std::string system_text(int error) {
  return std::error_code(error, std::generic_category()).message();
}

}  // namespace troupe::detail

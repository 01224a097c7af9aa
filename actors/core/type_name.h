// Names of types for people and for comparison between nodes.
#pragma once

#include <string>
#include <typeinfo>

namespace troupe::detail {

/// Returns the name as it stands in a program: "samples::DigitNet".
[[nodiscard]] std::string type_name(const std::type_info& type);

}  // namespace troupe::detail

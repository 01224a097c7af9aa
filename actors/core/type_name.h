// Names of types for people and for comparison between nodes.
#pragma once

#include <string>
#include <typeindex>

namespace troupe::detail {

/// Returns the name as it stands in a program: "samples::DigitNet".
[[nodiscard]] std::string type_name(std::type_index type);

}  // namespace troupe::detail

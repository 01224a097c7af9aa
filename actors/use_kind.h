// What somebody does with a value while it holds it.
#pragma once

#include <cstdint>

namespace troupe::detail {

enum class UseKind : std::uint8_t {
  looks,    ///< at what does not change: takes no turn
  reads,    ///< in turn
  changes,  ///< in turn; copies of the value are out of date
};

}  // namespace troupe::detail

// The treatment of references that the program still holds at the end.
#pragma once

#include <cstdint>

namespace troupe {

/// What shutdown does about references to other nodes' values that the program still holds.
enum class Leaks : std::uint8_t {
  warn,  ///< logs one line for each
  fail,  ///< Node::shutdown throws at its end
};

}  // namespace troupe

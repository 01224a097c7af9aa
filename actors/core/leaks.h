// What becomes of references that outlive their use.
#pragma once

#include <cstdint>

namespace troupe {

/// What the common end of a cluster does about references to other nodes' values that the program still holds.
enum class Leaks : std::uint8_t {
  warn,  ///< one line in the log for each
  fail,  ///< Node::shutdown throws when it is done
};

}  // namespace troupe

// Height and width.
#pragma once

#include <array>
#include <cstdint>

namespace troupe {

/// Height and width, or a number for each of them.
using Size2d = std::array<std::int64_t, 2>;

}  // namespace troupe

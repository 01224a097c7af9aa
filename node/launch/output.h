// The two streams of a process.
#pragma once

#include <cstdint>

namespace troupe {

enum class Output : std::uint8_t { out, err };

}  // namespace troupe

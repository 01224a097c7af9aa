// How a call is served: what a caller may ask for.
#pragma once

#include <cstdint>

namespace troupe::msg {

/// Which of the calls that wait for a thread of the callee begin first. Inherited by nested calls.
enum class Priority : std::uint8_t { low = 1, normal = 2, high = 3 };

/// How functions that use one value run.
enum class Sharing : std::uint8_t {
  turns = 1,       ///< one after the other, as an actor handles its messages
  concurrent = 2,  ///< all at once: the type is safe to use from many threads
};

/// What of a value is fetched.
enum class Wanted : std::uint8_t {
  value = 1,    ///< a copy
  type = 2,     ///< the text of its wire structure
  element = 3,  ///< the next one of a stream: an optional, empty after the last
  cached = 4,   ///< its version (u64) and a copy; once it has changed, the holder is told by RRefChanged
};

}  // namespace troupe::msg

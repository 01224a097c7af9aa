// How a call is served, as its caller requests.
#pragma once

#include <cstdint>

namespace troupe::msg {

/// The order in which calls that wait for a thread of the callee start. Inherited by nested calls.
enum class Priority : std::uint8_t { low = 1, normal = 2, high = 3 };

/// How functions that use one value run.
enum class Sharing : std::uint8_t {
  turns = 1,       ///< one after the other, as an actor handles its messages
  concurrent = 2,  ///< concurrently: the type must be safe to use from many threads
};

/// What a fetch requests of a value.
enum class Wanted : std::uint8_t {
  value = 1,    ///< a copy
  type = 2,     ///< the text of its wire structure
  element = 3,  ///< the next element of a stream: an optional, empty after the last
  cached = 4,   ///< its version (u64) and a copy; RRefChanged notifies the holder of the next change
};

}  // namespace troupe::msg

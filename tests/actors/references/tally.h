// The value that tests keep on a node: a number with a member function.
#pragma once

#include <cstdint>

namespace troupe::testing {

struct Tally {
  std::int64_t value = 0;
  [[nodiscard]] std::int64_t total() const { return value; }
  template <class Archive>
  void serialize(Archive& ar) {
    ar(value);
  }
};

inline std::int64_t twice(std::int64_t x) { return 2 * x; }

}  // namespace troupe::testing

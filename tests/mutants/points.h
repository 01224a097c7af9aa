// The places of a source where one small change makes it wrong: one mutant each.
//
// Places are found by tokens, without types: some of the changes do not compile, and the compiler refuses them. Only
// statements and expressions inside functions are changed. Log lines are not changed, because they implement no rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/mutants/source.h"

namespace mutants {

enum class Change : std::uint8_t {
  deleted,   ///< a statement is omitted
  negated,   ///< a condition, or one side of && and ||
  swapped,   ///< two adjacent arguments
  relation,  ///< < for <=, > for >=, == for !=, and the reverse
  number,    ///< one more or less
};

[[nodiscard]] std::string_view name_of(Change change);

/// Tokens `begin` to `end` - 1 of a source.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;

  [[nodiscard]] bool contains(const Range& other) const { return begin <= other.begin && other.end <= end; }
  [[nodiscard]] bool is_apart_from(const Range& other) const { return end <= other.begin || other.end <= begin; }
  friend auto operator<=>(const Range&, const Range&) = default;
};

struct Point {
  Change change = Change::deleted;
  Range range;               ///< the changed tokens
  Range first{};             ///< swapped: an argument; relation: the left operand
  Range second{};            ///< swapped: the next argument; relation: the right operand
  std::size_t name = kNone;  ///< negated: the variable that the condition declares, if any
  std::string instead{};     ///< relation, number: the other operator or number
  int line = 0;
  std::string what{};  ///< for reports: "`a` and `b`"
};

/// Returns all points, in the order of the text.
[[nodiscard]] std::vector<Point> points_of(const Source& source);

}  // namespace mutants

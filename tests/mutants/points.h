// The places of a source where one small change makes it wrong: a mutant each.
//
// Places are found by tokens, without types: some of the changes do not compile and are left to the compiler to refuse.
// Only statements and expressions inside functions are changed. Log lines are not: no rule is in them.
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
  deleted,   ///< a statement is left out
  negated,   ///< a condition, or one side of && and ||
  swapped,   ///< two arguments beside each other
  relation,  ///< < for <=, > for >=, == for !=, and the other way round
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
  Range range;               ///< what is changed
  Range first{};             ///< swapped: an argument; relation: what is left of the operator
  Range second{};            ///< swapped: the next argument; relation: what is right of it
  std::size_t name = kNone;  ///< negated: what the condition declares, if it declares something
  std::string instead{};     ///< relation, number: the other operator or number
  int line = 0;
  std::string what{};  ///< for people: "`a` and `b`"
};

/// All of them, in the order of the text.
[[nodiscard]] std::vector<Point> points_of(const Source& source);

}  // namespace mutants

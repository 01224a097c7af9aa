// A source in which some points are switches: the running program decides whether a point is mutated.
//
// Each point begins and ends on lines of its own, so that the line of a compiler error identifies the point at fault.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tests/mutants/points.h"
#include "tests/mutants/source.h"

namespace mutants {

/// A point of a copy, and its number for `is_on` (tests/mutants/selector.h).
struct Switched {
  const Point* point = nullptr;
  int number = 0;
};

class Mutated {
 public:
  /// REQUIRES: two ranges of `points` are disjoint, or one contains the other; no point occurs twice.
  Mutated(const Source& source, std::vector<Switched> points);

  [[nodiscard]] const std::string& text() const { return text_; }

  /// Returns the number of the point at fault for an error on that line of the text, from 1; nothing if there is none.
  [[nodiscard]] std::optional<int> to_blame(int line) const;

  /// As above for an error that the compiler reports late: the next point from that line on.
  [[nodiscard]] std::optional<int> to_blame_after(int line) const;

  /// As above for a function that ends on that line and does not return a value any more.
  [[nodiscard]] std::optional<int> to_blame_for_end(int line) const;

 private:
  /// The point that a line belongs to.
  struct Frame {
    const Switched* point = nullptr;
    bool is_copy = false;  // the line is a copy of the point's code, for the mutated program
  };

  /// Writes the range with the points of `all` that are in it.
  void write(Range range, const std::vector<const Switched*>& all);
  void write_point(const std::vector<const Switched*>& same, std::size_t i, const std::vector<const Switched*>& inside);
  void write_copy(Range range, const std::vector<const Switched*>& inside);
  void out(std::string_view text);

  const Source& source_;
  const std::vector<Switched> points_;
  std::string text_;
  std::vector<Frame> around_;
  std::vector<std::vector<Frame>> lines_;
};

}  // namespace mutants

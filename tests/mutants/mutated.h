// A source with some of its points switched: whether one is changed is asked when the program runs.
//
// Each point begins and ends on lines of its own, so that a line that the compiler complains about says whose fault it
// is.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tests/mutants/points.h"
#include "tests/mutants/source.h"

namespace mutants {

/// A point that is in a copy, and its number for `is_on` (tests/mutants/selector.h).
struct Switched {
  const Point* point = nullptr;
  int number = 0;
};

class Mutated {
 public:
  /// REQUIRES: each two ranges of `points` are apart, or one contains the other; no point is there twice.
  Mutated(const Source& source, std::vector<Switched> points);

  [[nodiscard]] const std::string& text() const { return text_; }

  /// The number of the point that is to blame for an error on that line of the text, from 1; nothing if there is none.
  [[nodiscard]] std::optional<int> to_blame(int line) const;

  /// The same for an error that the compiler noticed late: the next point from there on.
  [[nodiscard]] std::optional<int> to_blame_after(int line) const;

  /// The same for a function that ends on that line and no longer returns.
  [[nodiscard]] std::optional<int> to_blame_for_end(int line) const;

 private:
  /// What a line belongs to.
  struct Frame {
    const Switched* point = nullptr;
    bool is_copy = false;  // of what the point contains, for the changed program
  };

  /// Writes the range with those of the points that are in it.
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

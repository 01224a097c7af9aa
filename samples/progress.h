// How far a training run is: one line that redraws itself for people, a few plain lines for files and pipes.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

namespace samples {

/// Writes `title [####......] 400/1000 note`. Not safe for use by two threads at once.
class Progress {
 public:
  enum class Style : std::uint8_t {
    bar,    ///< each update ends in \r and replaces the one before
    lines,  ///< a line for each tenth
  };

  /// `bar` if standard output is a terminal.
  [[nodiscard]] static Style style_of_stdout();

  /// `out` outlives the Progress. Requires total > 0.
  Progress(std::ostream& out, Style style, std::string title, std::int64_t total);

  /// `done` of the total are done. The last update, done == total, ends the line.
  void update(std::int64_t done, std::string_view note);

 private:
  std::ostream& out_;
  Style style_;
  std::string title_;
  std::int64_t total_;
  std::int64_t tenths_shown_ = 0;
  std::size_t width_shown_ = 0;
};

}  // namespace samples

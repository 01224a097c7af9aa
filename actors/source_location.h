// A line of a user's program, for reports and warnings.
#pragma once

#include <cstdint>

namespace troupe {

/// A line of the program, as std::source_location, which Clang 14 lacks.
class SourceLocation {
 public:
  /// Returns the line of the call; as a default argument, the line that calls the function.
  static constexpr SourceLocation current(const char* file = __builtin_FILE(),
                                          std::uint32_t line = __builtin_LINE()) noexcept {
    return SourceLocation(file, line);
  }

  [[nodiscard]] constexpr const char* file_name() const noexcept { return file_; }
  [[nodiscard]] constexpr std::uint32_t line() const noexcept { return line_; }

 private:
  constexpr SourceLocation(const char* file, std::uint32_t line) noexcept : file_(file), line_(line) {}

  const char* file_;
  std::uint32_t line_;
};

}  // namespace troupe

// Where in a program something was asked for.
#pragma once

#include <cstdint>

namespace troupe {

/// A line of the program, as std::source_location, which Clang 14 lacks.
class SourceLocation {
 public:
  /// Where it is called; as a default argument, where the function is called.
  static constexpr SourceLocation current(const char* file = __builtin_FILE(), std::uint32_t line = __builtin_LINE()) noexcept {
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

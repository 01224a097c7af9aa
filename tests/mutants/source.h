// A C++ source as tokens and brackets: as much of the language as single changes need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace mutants {

inline constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

/// Comments, white space and preprocessor lines are between tokens. Every `>` is a token of its own.
struct Token {
  enum class Kind : std::uint8_t { word, number, text, sign };
  Kind kind = Kind::sign;
  std::size_t begin = 0;  ///< offset in the text
  std::size_t end = 0;
  int line = 0;                ///< from 1
  std::size_t match = kNone;   ///< for (, [, { and their closing brackets: the other one
  std::size_t parent = kNone;  ///< the enclosing bracket
};

class Source {
 public:
  /// `path` from the root of the tree. Throws std::runtime_error if brackets do not match.
  Source(std::string path, std::string text);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::size_t size() const { return tokens_.size(); }
  [[nodiscard]] const Token& token(std::size_t i) const { return tokens_[i]; }

  /// Returns the text of token `i`; empty beyond the last.
  [[nodiscard]] std::string_view text(std::size_t i) const;
  [[nodiscard]] bool is(std::size_t i, std::string_view what) const { return text(i) == what; }

  /// Returns the text of tokens `begin` to `end` - 1, including the text between them.
  [[nodiscard]] std::string_view text(std::size_t begin, std::size_t end) const;

  /// As above, with each run of white space as one space.
  [[nodiscard]] std::string line_of_text(std::size_t begin, std::size_t end) const;

  [[nodiscard]] std::string_view all() const { return text_; }

  /// Returns line `number`, from 1, without surrounding spaces.
  [[nodiscard]] std::string_view line(int number) const;

  /// Returns whether white space surrounds token `i`: this distinguishes operators from template brackets.
  [[nodiscard]] bool is_spaced(std::size_t i) const;

  /// Returns the end of the template arguments that begin with the `<` at `i`; kNone if there are none.
  [[nodiscard]] std::size_t end_of_arguments(std::size_t i) const;

 private:
  void read();
  void match_brackets();

  const std::string path_;
  const std::string text_;
  std::vector<Token> tokens_;
};

}  // namespace mutants

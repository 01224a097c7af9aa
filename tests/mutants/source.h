// A C++ source as tokens and brackets: as much of the language as is needed to change single places of it.
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
  std::size_t begin = 0;  ///< in the text
  std::size_t end = 0;
  int line = 0;                ///< from 1
  std::size_t match = kNone;   ///< of (, [, { and their ends: the other one
  std::size_t parent = kNone;  ///< the bracket around it
};

class Source {
 public:
  /// `path` from the root of the tree. Throws std::runtime_error if brackets do not match.
  Source(std::string path, std::string text);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::size_t size() const { return tokens_.size(); }
  [[nodiscard]] const Token& token(std::size_t i) const { return tokens_[i]; }

  /// Of token `i`; empty beyond the last.
  [[nodiscard]] std::string_view text(std::size_t i) const;
  [[nodiscard]] bool is(std::size_t i, std::string_view what) const { return text(i) == what; }

  /// Of tokens `begin` to `end` - 1 with what is between them.
  [[nodiscard]] std::string_view text(std::size_t begin, std::size_t end) const;

  /// The same with each run of white space as one space.
  [[nodiscard]] std::string line_of_text(std::size_t begin, std::size_t end) const;

  [[nodiscard]] std::string_view all() const { return text_; }

  /// Line `number`, from 1, without the spaces around it.
  [[nodiscard]] std::string_view line(int number) const;

  /// Whether white space is on both sides of token `i`: how operators are told from brackets of templates.
  [[nodiscard]] bool is_spaced(std::size_t i) const;

  /// The end of the template arguments that begin with the `<` at `i`; kNone if it begins none.
  [[nodiscard]] std::size_t end_of_arguments(std::size_t i) const;

 private:
  void read();
  void match_brackets();

  const std::string path_;
  const std::string text_;
  std::vector<Token> tokens_;
};

}  // namespace mutants

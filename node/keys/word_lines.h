// Texts of small files that programs exchange: lines "word value", in a fixed order, nothing else.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace troupe::detail {

/// Returns two lower-case hexadecimal digits for each byte. Not for secrets: the text is ordinary memory.
[[nodiscard]] std::string hex_of(std::span<const std::byte> bytes);

/// Takes lines and words from the front of a text that anybody may have written. All members throw
/// std::invalid_argument, naming the line and the word that is not right; never a value, which may be secret.
class WordLines {
 public:
  static constexpr std::size_t kValueMax = 512;

  /// `text` outlives this object and what `value` returns.
  explicit WordLines(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool at_end() const { return rest_.empty(); }

  /// Returns whether the next line begins with `word`.
  [[nodiscard]] bool at(std::string_view word) const;

  /// Takes the line "`word` VALUE" and returns the value: 1 to 512 characters of printable ASCII.
  std::string_view value(std::string_view word);

  /// Takes the line "`word` VALUE", whose value is a name of at most `size_max` characters.
  std::string name(std::string_view word, std::size_t size_max);

  /// Takes the line "`word` VALUE", whose value is a decimal number.
  std::uint64_t number(std::string_view word);

  /// Takes the line "`word` VALUE", whose value is `into` in hexadecimal digits.
  void bytes(std::string_view word, std::span<std::byte> into);

  /// Takes the first line, "`word` 1".
  void kind(std::string_view word);

  /// Checks that nothing follows.
  void end() const;

  /// Takes the next word of `line`, a value of the line taken last; empty at its end.
  [[nodiscard]] static std::string_view next_word(std::string_view& line);

  /// Checks a word of the line taken last.
  [[nodiscard]] std::string checked_name(std::string_view word, std::string_view name, std::size_t size_max) const;
  void read_bytes(std::string_view word, std::string_view digits, std::span<std::byte> into) const;

  /// Says what is wrong with `word`, in the line taken last.
  [[noreturn]] void wrong(std::string_view word, std::string_view what) const;

 private:
  std::string_view rest_;
  std::size_t line_ = 0;  ///< of the line taken last, from 1
};

}  // namespace troupe::detail

#include "node/config/string_array.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <utility>

namespace troupe::detail {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

void add_utf8(std::string& text, std::uint32_t code_point) {
  const auto byte = [&](std::uint32_t bits) { text += static_cast<char>(bits); };
  const auto continued = [&](unsigned shift) { byte(0x80U | ((code_point >> shift) & 0x3FU)); };
  if (code_point < 0x80U) return byte(code_point);
  if (code_point < 0x800U) {
    byte(0xC0U | (code_point >> 6U));
  } else if (code_point < 0x10000U) {
    byte(0xE0U | (code_point >> 12U));
    continued(6);
  } else {
    byte(0xF0U | (code_point >> 18U));
    continued(12);
    continued(6);
  }
  continued(0);
}

/// Reads from the front.
class ArrayReader {
 public:
  explicit ArrayReader(std::string_view text) : left_(text) {}

  std::optional<std::vector<std::string>> read() {
    std::vector<std::string> items;
    if (!take('[')) return std::nullopt;
    while (!take(']')) {
      if (!items.empty() && !take(',')) return std::nullopt;
      if (!items.empty() && take(']')) break;
      auto item = take('\'') ? rest_of_literal() : take('"') ? rest_of_basic() : std::nullopt;
      if (!item) return std::nullopt;
      items.push_back(std::move(*item));
    }
    skip_blanks();
    return left_.empty() ? std::optional(std::move(items)) : std::nullopt;
  }

 private:
  void skip_blanks() { left_.remove_prefix(std::min(left_.find_first_not_of(kBlanks), left_.size())); }

  bool take(char wanted) {
    skip_blanks();
    if (!left_.starts_with(wanted)) return false;
    left_.remove_prefix(1);
    return true;
  }

  std::optional<std::string> rest_of_literal() {
    const std::size_t end = left_.find('\'');
    if (end == std::string_view::npos) return std::nullopt;
    std::string text(left_.substr(0, end));
    left_.remove_prefix(end + 1);
    return text;
  }

  std::optional<std::string> rest_of_basic() {
    std::string text;
    while (!left_.empty()) {
      const char c = left_.front();
      left_.remove_prefix(1);
      if (c == '"') return text;
      if (c != '\\') {
        text += c;
      } else if (!add_escaped(text)) {
        return std::nullopt;
      }
    }
    return std::nullopt;
  }

  /// Adds what is meant by the characters behind a backslash.
  bool add_escaped(std::string& text) {
    constexpr std::string_view kWritten = "btnfr\"\\";
    constexpr std::string_view kMeant = "\b\t\n\f\r\"\\";
    if (left_.empty()) return false;
    const char c = left_.front();
    left_.remove_prefix(1);
    if (c == 'u') return add_code_point(text, 4);
    if (c == 'U') return add_code_point(text, 8);
    const std::size_t which = kWritten.find(c);
    if (which == std::string_view::npos) return false;
    text += kMeant[which];
    return true;
  }

  bool add_code_point(std::string& text, std::size_t digits) {
    const std::string_view number = left_.substr(0, digits);
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value, 16);
    const bool is_surrogate = value >= 0xD800U && value < 0xE000U;
    if (number.size() < digits || error != std::errc{} || end != number.data() + digits || value > 0x10FFFFU ||
        is_surrogate)
      return false;
    left_.remove_prefix(digits);
    add_utf8(text, value);
    return true;
  }

  std::string_view left_;
};

}  // namespace

std::optional<std::vector<std::string>> parse_string_array(std::string_view text) { return ArrayReader(text).read(); }

}  // namespace troupe::detail

#include "node/keys/word_lines.h"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "node/node_name.h"

namespace troupe::detail {

std::string hex_of(std::span<const std::byte> bytes) {
  std::string text(bytes.size() * 2 + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  text.pop_back();
  return text;
}

bool WordLines::at(std::string_view word) const {
  return rest_.size() > word.size() && rest_.starts_with(word) && rest_[word.size()] == ' ';
}

std::string_view WordLines::value(std::string_view word) {
  ++line_;
  const std::size_t end = rest_.find('\n');
  if (!at(word) || end == std::string_view::npos || end <= word.size()) wrong(word, "is not there");
  const std::string_view value = rest_.substr(word.size() + 1, end - word.size() - 1);
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~'; };
  if (value.empty() || value.size() > kValueMax || !std::ranges::all_of(value, is_plain)) wrong(word, "is not a text");
  rest_.remove_prefix(end + 1);
  return value;
}

std::string WordLines::name(std::string_view word, std::size_t size_max) {
  return checked_name(word, value(word), size_max);
}

std::uint64_t WordLines::number(std::string_view word) {
  const std::string_view text = value(word);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) wrong(word, "is not a number");
  return number;
}

void WordLines::bytes(std::string_view word, std::span<std::byte> into) { read_bytes(word, value(word), into); }

void WordLines::kind(std::string_view word) {
  if (value(word) != "1") wrong(word, "is of another version of troupe");
}

void WordLines::end() const {
  if (!at_end()) throw std::invalid_argument(fmt::format("line {}: something follows the last line", line_ + 1));
}

std::string_view WordLines::next_word(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(line.size(), word.size() + 1));
  return word;
}

std::string WordLines::checked_name(std::string_view word, std::string_view name, std::size_t size_max) const {
  if (!is_valid_node_name(name) || name.size() > size_max) wrong(word, "is not a name");
  return std::string(name);
}

void WordLines::read_bytes(std::string_view word, std::string_view digits, std::span<std::byte> into) const {
  std::size_t size = 0;
  const bool fits =
      digits.size() == 2 * into.size() && sodium_hex2bin(reinterpret_cast<unsigned char*>(into.data()), into.size(),
                                                         digits.data(), digits.size(), nullptr, &size, nullptr) == 0;
  if (!fits || size != into.size()) wrong(word, fmt::format("is not {} hexadecimal digits", 2 * into.size()));
}

void WordLines::wrong(std::string_view word, std::string_view what) const {
  throw std::invalid_argument(fmt::format("line {}: \"{}\" {}", line_, word, what));
}

}  // namespace troupe::detail

#include "tests/fuzz/corpus.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace troupe::fuzz {

namespace {

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

Input input_of_line(const std::string& line, std::size_t number) {
  Input input;
  const bool is_hex = line.size() % 2 == 0 && std::ranges::all_of(line, [](char c) { return digit_of(c) >= 0; });
  if (!is_hex) throw std::invalid_argument(fmt::format("line {} of the corpus is not in hexadecimal digits", number));
  for (std::size_t at = 0; at < line.size(); at += 2) {
    input.push_back(static_cast<std::byte>(digit_of(line[at]) * 16 + digit_of(line[at + 1])));
  }
  return input;
}

}  // namespace

std::vector<Input> parse_corpus(std::string_view text) {
  std::vector<Input> inputs;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) inputs.push_back(input_of_line(line, inputs.size() + 1));
  return inputs;
}

std::string corpus_text(std::vector<Input> inputs) {
  std::ranges::sort(inputs,
                    [](const Input& a, const Input& b) { return std::tuple(a.size(), a) < std::tuple(b.size(), b); });
  inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
  std::string text;
  for (const Input& input : inputs) {
    for (const std::byte byte : input) text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
    text += '\n';
  }
  return text;
}

std::vector<Input> read_corpus(const std::filesystem::path& folder, std::string_view target) {
  std::ifstream in(folder / fmt::format("{}.hex", target), std::ios::binary);
  return parse_corpus(std::string{std::istreambuf_iterator<char>(in), {}});
}

}  // namespace troupe::fuzz

#include "node/engines/exchange_records.h"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <stdexcept>

#include "node/config/settings.h"

namespace troupe::detail {
namespace {

constexpr std::size_t kValueMax = 512;

std::string hex_of(std::span<const std::byte> bytes) {
  std::string text(bytes.size() * 2 + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  text.pop_back();
  return text;
}

/// Takes lines and words from the front of a text.
class RecordReader {
 public:
  explicit RecordReader(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  [[nodiscard]] bool at(std::string_view word) const {
    return rest_.size() > word.size() && rest_.starts_with(word) && rest_[word.size()] == ' ';
  }

  /// Takes the line "`word` VALUE" and returns the value: printable ASCII.
  std::string_view value(std::string_view word) {
    const std::size_t end = rest_.find('\n');
    if (!at(word) || end == std::string_view::npos || end <= word.size()) wrong(word, "is not there");
    const std::string_view value = rest_.substr(word.size() + 1, end - word.size() - 1);
    const auto is_plain = [](char c) { return c >= ' ' && c <= '~'; };
    if (value.empty() || value.size() > kValueMax || !std::all_of(value.begin(), value.end(), is_plain)) {
      wrong(word, "is not a text");
    }
    rest_.remove_prefix(end + 1);
    return value;
  }

  std::string name(std::string_view word) { return checked_name(word, value(word)); }

  std::size_t number(std::string_view word) {
    const std::string_view text = value(word);
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) wrong(word, "is not a number");
    return number;
  }

  PublicKey key(std::string_view word) { return {bytes<PublicKey::kBytes>(word, value(word))}; }

  RunRecord::Member member() {
    constexpr std::string_view kWord = "member";
    std::string_view line = value(kWord);
    std::array<std::string_view, 3> words;
    for (std::string_view& word : words) {
      word = line.substr(0, line.find(' '));
      line.remove_prefix(std::min(line.size(), word.size() + 1));
    }
    if (!line.empty()) wrong(kWord, "has more words than three");
    return {checked_name(kWord, words[0]),
            {bytes<PublicKey::kBytes>(kWord, words[1])},
            {bytes<SealedSecret::kBytes>(kWord, words[2])}};
  }

  /// Takes the first line.
  void kind(std::string_view word) {
    if (value(word) != "1") wrong(word, "is of another version of troupe");
  }

  void end() const {
    if (!at_end()) throw std::invalid_argument("something follows the last line");
  }

 private:
  [[noreturn]] static void wrong(std::string_view word, std::string_view what) {
    throw std::invalid_argument(fmt::format("\"{}\" {}", word, what));
  }

  static std::string checked_name(std::string_view word, std::string_view name) {
    if (!is_valid_name(name)) wrong(word, "is not a name");
    return std::string(name);
  }

  template <std::size_t kSize>
  static std::array<std::byte, kSize> bytes(std::string_view word, std::string_view digits) {
    std::array<std::byte, kSize> result{};
    std::size_t size = 0;
    const bool fits =
        digits.size() == 2 * kSize && sodium_hex2bin(reinterpret_cast<unsigned char*>(result.data()), kSize,
                                                     digits.data(), digits.size(), nullptr, &size, nullptr) == 0;
    if (!fits || size != kSize) wrong(word, fmt::format("is not {} hexadecimal digits", 2 * kSize));
    return result;
  }

  std::string_view rest_;
};

}  // namespace

std::string text_of(const TaskRecord& record) {
  std::string text = fmt::format("troupe-task 1\njob {}\nrank {}\nname {}\nhost {}\nkey {}\n", record.job, record.rank,
                                 record.name, record.host, hex_of(record.key.bytes));
  if (record.answers) text += fmt::format("answers {}\n", hex_of(record.answers->bytes));
  return text;
}

std::string text_of(const RunRecord& record) {
  std::string text =
      fmt::format("troupe-run 1\njob {}\ncluster {}\nseed {}\n", record.job, record.cluster_id, record.seed);
  for (const RunRecord::Member& member : record.members) {
    text += fmt::format("member {} {} {}\n", member.name, hex_of(member.key.bytes), hex_of(member.secret.bytes));
  }
  return text;
}

TaskRecord parse_task(std::string_view text) {
  RecordReader reader(text);
  reader.kind("troupe-task");
  TaskRecord record;
  record.job = reader.value("job");
  record.rank = reader.number("rank");
  record.name = reader.name("name");
  record.host = reader.value("host");
  record.key = reader.key("key");
  if (reader.at("answers")) record.answers = reader.key("answers");
  reader.end();
  return record;
}

RunRecord parse_run(std::string_view text, std::size_t members_max) {
  RecordReader reader(text);
  reader.kind("troupe-run");
  RunRecord record;
  record.job = reader.value("job");
  record.cluster_id = reader.name("cluster");
  record.seed = reader.value("seed");
  while (!reader.at_end()) {
    if (record.members.size() == members_max) throw std::invalid_argument("there are too many members");
    record.members.push_back(reader.member());
  }
  return record;
}

}  // namespace troupe::detail
